"""Topics: what evaluation asks of a model, its checks, and the models of other libraries."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF, LatentDirichletAllocation, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

from bnptopics import KLNMF, Corpus, FranchiseHDP, GibbsLDA, Topics, VariationalLDA, heldout
from bnptopics.topics import chains

PHI = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
TEXTS = ["cats purr and cats sleep", "dogs bark", "cats sleep", "dogs bark and dogs run", "birds sing and bark"] * 4
CORPUS = Corpus.from_texts(TEXTS)


def refuses(message: str, error: type[Exception] = ValueError) -> pytest.RaisesExc:
    return pytest.raises(error, match=re.escape(message))


# ----------------------------------------------------------------------------------------------------------------- made


def test_topics_are_kept_as_given():
    found = Topics(PHI, ["a", "b", "c"], 0.3)
    np.testing.assert_allclose(found.topic_word_, PHI, rtol=1e-15)
    assert found.alpha_.tolist() == [0.3, 0.3] and found.vocabulary_ == ("a", "b", "c")
    given, prior = PHI.copy(), np.array([0.5, 2.0])
    found = Topics(given, np.array(["a", "b", "c"]), prior)
    given[:], prior[:] = 7, 7
    np.testing.assert_allclose(found.topic_word_, PHI, rtol=1e-15)
    assert found.alpha_.tolist() == [0.5, 2.0] and all(type(word) is str for word in found.vocabulary_)
    bare = Topics(PHI.tolist())
    assert bare.alpha_ is None and bare.vocabulary_ == ("0", "1", "2")
    assert repr(found) == "Topics(2 topics, 3 words)"
    assert repr(bare) == "Topics(2 topics, 3 words, without a prior of documents)"
    rounded = Topics(PHI.astype(np.float32) * np.float32(1 + 3e-7))  # rows of single precision are made whole
    np.testing.assert_allclose(rounded.topic_word_.sum(axis=1), 1, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.5],), "topic_word has shape (2,): give topics as rows of word probabilities, shape (K, V)."),
        ((np.empty((0, 3)),), "topic_word has shape (0, 3): give topics as rows"),
        (([[0.5, 0.5], [1.0]],), "topic_word is a list, and no array of numbers: give topics as rows"),
        (("topics",), "topic_word is a str, and no array of numbers: give topics as rows"),
        ((sparse.csr_array(PHI),), "topic_word is a csr_array, and no array of numbers: give topics as rows"),
        (([[0.5, 0.5], [0.5, 0.6]],), "row 1 of topic_word is no distribution: give probabilities that sum to one."),
        (([[1.5, -0.5]],), "row 0 of topic_word is no distribution"),
        (([[0.5, np.nan]],), "row 0 of topic_word is no distribution"),
        (([[np.inf, 0.5]],), "row 0 of topic_word is no distribution"),
        ((PHI, ["a", "b"]), "vocabulary has 2 words: topic_word needs one for each of its 3 columns."),
        ((PHI, ["a", "b", "a"]), "vocabulary has 'a' at 0 and at 2: each word stands there once."),
        ((PHI, None, 0), "alpha is 0.0: it must be above 0 and finite"),
        ((PHI, None, [0.1, np.inf]), "alpha[1] is inf: it must be above 0 and finite"),
        ((PHI, None, [0.1] * 3), "alpha has shape (3,): give a number, or an array of shape (2,), one for each topic."),
        ((PHI, None, "auto"), "alpha is 'auto': give a number above 0, or one for each topic."),
    ],
)
def test_what_are_no_topics(arguments, message):
    with refuses(message):
        Topics(*arguments)


def test_a_vocabulary_is_of_words():
    with refuses("vocabulary[1] is 3: words are str.", TypeError):
        Topics(PHI, ["a", 3, "b"])
    with refuses("vocabulary is a dict, which does not keep the order of ids", TypeError):
        Topics(PHI, {"a": 0, "b": 1, "c": 2})


# --------------------------------------------------------------------------------------------------------------- chains


def test_chains_of_models():
    topics = Topics(PHI, ["a", "b", "c"], 0.3)
    (one,) = chains(topics)
    assert np.array_equal(one.topic_word_, topics.topic_word_) and one.alpha_.tolist() == [0.3, 0.3]
    assert chains(topics, [1.0, 2.0])[0].alpha_.tolist() == [1.0, 2.0]
    gibbs = GibbsLDA(2, n_sweeps=12, burn_in=6, n_chains=3, optimise_priors="alpha", optimise_interval=2)
    found = chains(gibbs.set_params(random_state=0).fit(CORPUS))
    assert len(found) == 3
    for c, chain in enumerate(found):
        np.testing.assert_allclose(chain.topic_word_, gibbs.chain_topic_word_[c], rtol=1e-12)
        assert np.array_equal(chain.alpha_, gibbs.chain_alpha_[c]) and chain.vocabulary_ == CORPUS.vocabulary
    assert len({chain.alpha_[0] for chain in found}) == 3
    assert [chain.alpha_.tolist() for chain in chains(gibbs, 0.7)] == [[0.7, 0.7]] * 3
    (variational,) = chains(VariationalLDA(2, max_iter=2, random_state=0).fit(CORPUS))
    assert variational.alpha_.tolist() == [0.1, 0.1]
    factors = KLNMF(2, max_iter=3, random_state=0).fit(CORPUS)
    assert chains(factors)[0].alpha_ is None and chains(factors, 0.2)[0].alpha_.tolist() == [0.2, 0.2]


def test_topics_of_samples_are_made_once(monkeypatch):
    """A model works them out of its counts whenever it is asked: every word of every topic of every sample."""
    model = FranchiseHDP(n_sweeps=4, burn_in=1, thin=1, random_state=0).fit(CORPUS)
    made, phi = [], FranchiseHDP._phi
    monkeypatch.setattr(FranchiseHDP, "_phi", lambda self, sample: made.append(1) or phi(self, sample))
    assert len(chains(model)) == model.n_samples_ == len(made) == 3


def test_what_has_no_topics():
    for thing in (None, PHI, SimpleNamespace(topic_word_=PHI), GibbsLDA):
        with refuses(
            f"model is a {type(thing).__name__} without topic_word_ and vocabulary_: give a fitted", TypeError
        ):
            chains(thing)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        chains(VariationalLDA())


# -------------------------------------------------------------------------------------------------------- scikit-learn


def test_from_sklearn():
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(TEXTS)
    model = LatentDirichletAllocation(3, doc_topic_prior=0.4, random_state=0).fit(counts)
    found = Topics.from_sklearn(model, vectorizer.get_feature_names_out())
    np.testing.assert_allclose(
        found.topic_word_, model.components_ / model.components_.sum(axis=1, keepdims=True), rtol=1e-14
    )
    assert found.alpha_.tolist() == [0.4] * 3 and found.vocabulary_ == tuple(vectorizer.get_feature_names_out())
    assert heldout.exact(found, counts[1:3]).perplexity > 1
    assert Topics.from_sklearn(model).vocabulary_ == tuple(map(str, range(counts.shape[1])))
    default = LatentDirichletAllocation(4, random_state=0).fit(counts)
    assert Topics.from_sklearn(default).alpha_.tolist() == [0.25] * 4  # what None stands for there
    with refuses(f"vocabulary has 2 words: topic_word needs one for each of its {counts.shape[1]} columns."):
        Topics.from_sklearn(model, ["a", "b"])


def test_from_sklearn_with_names_of_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CORPUS.counts.toarray(), columns=CORPUS.vocabulary)
    model = NMF(2, init="nndsvda", random_state=0, max_iter=500).fit(frame)
    found = Topics.from_sklearn(model)
    assert found.vocabulary_ == CORPUS.vocabulary and found.alpha_ is None
    assert heldout.completion(found, frame, fold_in="em").score < 0
    np.testing.assert_allclose(found.topic_word_.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_what_scikit_learn_has_that_are_no_topics():
    with pytest.raises(NotFittedError, match="This LatentDirichletAllocation instance is not fitted yet"):
        Topics.from_sklearn(LatentDirichletAllocation())
    svd = TruncatedSVD(2, random_state=0).fit(CORPUS.counts)
    with refuses("topic 1 of model has negative, infinite or no weights of words: it is no distribution over words."):
        Topics.from_sklearn(svd)
    empty = NMF(2)
    empty.components_ = np.array([[1.0, 2.0], [0.0, 0.0]])
    with refuses("topic 1 of model has negative, infinite or no weights of words"):
        Topics.from_sklearn(empty)
    with pytest.raises(TypeError, match="is not an estimator instance"):
        Topics.from_sklearn(PHI)


# -------------------------------------------------------------------------------------------------- gensim and tomotopy

BAGS, ID2WORD = CORPUS.to_gensim()


@pytest.mark.peers
@pytest.mark.foreign_randomness
@pytest.mark.parametrize("alpha", ["symmetric", "asymmetric", "auto"])
def test_from_gensim(alpha):
    gensim = pytest.importorskip("gensim")
    dictionary = gensim.corpora.Dictionary([text.split() for text in TEXTS])
    bags = [dictionary.doc2bow(text.split()) for text in TEXTS]
    model = gensim.models.LdaModel(bags, num_topics=3, id2word=dictionary, alpha=alpha, random_state=0, passes=3)
    found = Topics.from_gensim(model)
    np.testing.assert_allclose(found.topic_word_, model.get_topics(), rtol=1e-5)
    np.testing.assert_allclose(found.alpha_, model.alpha, rtol=1e-7)
    assert found.vocabulary_ == tuple(dictionary[v] for v in range(len(dictionary)))
    held_out = Corpus.from_gensim(bags[:3], dictionary)
    assert heldout.left_to_right(found, held_out).score < 0
    # With the topics taken for known, theta is what gensim infers, but for its single precision and its stopping.
    model.minimum_probability = 0.0
    theta, _ = model.inference(bags[:3])
    ours = heldout.plug_in(found, held_out, fold_in="variational")
    given = heldout.plug_in(found, held_out, theta=theta.astype(float) / theta.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(ours.log_probability, given.log_probability, rtol=0.05)


@pytest.mark.peers
@pytest.mark.foreign_randomness
def test_from_other_models_of_gensim():
    gensim = pytest.importorskip("gensim")
    hdp = gensim.models.HdpModel(BAGS, ID2WORD, T=6, random_state=0)
    found = Topics.from_gensim(hdp)
    assert found.topic_word_.shape == (6, CORPUS.vocab_size) and found.vocabulary_ == CORPUS.vocabulary
    np.testing.assert_allclose(found.alpha_, hdp.hdp_to_lda()[0], rtol=1e-12)
    factors = Topics.from_gensim(gensim.models.Nmf(BAGS, num_topics=2, id2word=ID2WORD, random_state=0))
    assert factors.alpha_ is None and factors.vocabulary_ == CORPUS.vocabulary
    with refuses("of model has negative, infinite or no weights of words"):
        Topics.from_gensim(gensim.models.LsiModel(BAGS, id2word=ID2WORD, num_topics=2))
    nameless = Topics.from_gensim(gensim.models.LdaModel(BAGS, num_topics=2, random_state=0))
    assert nameless.vocabulary_ == tuple(map(str, range(CORPUS.vocab_size)))


@pytest.mark.peers
def test_from_tomotopy():
    tomotopy = pytest.importorskip("tomotopy")
    model = tomotopy.LDAModel(k=3, alpha=0.3, seed=1, min_cf=5)
    for text in TEXTS:
        model.add_doc(text.split())
    with refuses("model is not trained: it has no vocabulary yet. Call its train method."):
        Topics.from_tomotopy(model)
    model.train(30, workers=1)
    found = Topics.from_tomotopy(model)
    assert found.vocabulary_ == tuple(model.used_vocabs) and len(found.vocabulary_) < len(model.vocabs)
    assert "sing" not in found.vocabulary_ and "cats" in found.vocabulary_
    for k in range(3):
        np.testing.assert_allclose(found.topic_word_[k], model.get_topic_word_dist(k), rtol=1e-5)
    np.testing.assert_allclose(found.alpha_, model.alpha, rtol=1e-6)
    held_out = Corpus.from_texts(TEXTS[:3], vocabulary=found.vocabulary_)
    assert heldout.exact(found, held_out).score < 0


@pytest.mark.peers
def test_other_models_of_tomotopy_have_other_priors():
    tomotopy = pytest.importorskip("tomotopy")
    hdp = tomotopy.HDPModel(seed=1)
    for text in TEXTS:
        hdp.add_doc(text.split())
    hdp.train(30, workers=1)
    with refuses("its documents have another prior than LDA's. Give model.convert_to_lda()[0].", TypeError):
        Topics.from_tomotopy(hdp)
    converted = Topics.from_tomotopy(hdp.convert_to_lda()[0])
    assert converted.topic_word_.shape[1] == len(converted.vocabulary_)
    with refuses(
        "model is a CTModel: its documents have another prior than LDA's. Give its topics to Topics", TypeError
    ):
        Topics.from_tomotopy(tomotopy.CTModel(k=2))


def test_the_readers_of_gensim_and_tomotopy_by_stand_ins():
    """Their calls, without the libraries: what was tried with the real ones is above."""
    gensim = SimpleNamespace(
        get_topics=lambda: PHI.astype(np.float32), alpha=np.float32([0.1, 0.2]), id2word=dict(enumerate("abc"))
    )
    found = Topics.from_gensim(gensim)
    assert found.vocabulary_ == ("a", "b", "c") and found.alpha_ == pytest.approx([0.1, 0.2], rel=1e-7)
    with refuses("id2word has 2 words but not id 1: its ids are 0, 1, ... without gaps."):
        gensim.id2word = {0: "a", 2: "c"}
        Topics.from_gensim(gensim)
    with refuses("vocabulary has 2 words: topic_word needs one for each of its 3 columns."):
        gensim.id2word = {0: "a", 1: "c"}
        Topics.from_gensim(gensim)

    class LDAModel:
        k, alpha, used_vocabs = 2, np.float32([0.1, 0.2]), ("a", "b", "c")

        def get_topic_word_dist(self, k: int) -> np.ndarray:
            return PHI[k].astype(np.float32)

    found = Topics.from_tomotopy(LDAModel())
    np.testing.assert_allclose(found.topic_word_, PHI, rtol=1e-6)
    assert found.vocabulary_ == ("a", "b", "c") and found.alpha_ == pytest.approx([0.1, 0.2], rel=1e-7)
    LDAModel.used_vocabs = ()
    with refuses("model is not trained"):
        Topics.from_tomotopy(LDAModel())
    with refuses("model is a SimpleNamespace: its documents have another prior than LDA's.", TypeError):
        Topics.from_tomotopy(gensim)
