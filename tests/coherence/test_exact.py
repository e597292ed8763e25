"""What is known exactly of coherence: numbers by hand, definitions written out once more, limits, symmetries."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnptopics import Corpus, coherence, verify
from bnptopics.coherence import cases, fast, reference

each_engine = pytest.mark.parametrize("kernels", [reference, fast], ids=["reference", "fast"])

# The documents of which everything was counted by hand, in words.
FIVE = Corpus.from_documents([[str(v) for v in document] for document in cases.DOCUMENTS])
TOPIC = ["0", "1", "2"]


def windows_of(documents: list[list[str]], size: int | None) -> list[set[str]]:
    """All windows, cut out one by one."""
    if size is None:
        return [set(document) for document in documents]
    return [
        set(document[first : first + size])
        for document in documents
        for first in range(max(1, len(document) - size + 1))
    ]


def share(windows: list[set[str]], *words: str) -> float:
    """The share of the windows that hold all of the words."""
    return sum(set(words) <= window for window in windows) / len(windows)


def npmi_of(windows: list[set[str]], a: str, b: str) -> float:
    """By the definition, with its two limits."""
    both = share(windows, a, b)
    if both in (0, 1):
        return both - 1
    return math.log(both / (share(windows, a) * share(windows, b))) / -math.log(both)


def random_corpus(seed: int, n_documents: int = 40, vocab_size: int = 12) -> Corpus:
    """Uneven words, lengths from 0 to 30, most words in bursts."""
    rng = np.random.default_rng(seed)
    documents = []
    for length in [0, 1, 2, *rng.integers(0, 31, n_documents - 3)]:
        p = rng.dirichlet(np.full(vocab_size, 0.3))
        documents.append([f"w{v}" for v in rng.choice(vocab_size, length, p=p)])
    return Corpus.from_documents(documents, [f"w{v}" for v in range(vocab_size)])


CORPUS = random_corpus(0)
TOPICS = [["w0", "w1", "w2", "w3"], ["w7", "w1", "w9", "w11"], ["w5", "w4", "w10", "w2"]]


# ------------------------------------------------------------------------------------------------------ pinned numbers


@verify.checks("eq-meaning-umass", "eq-meaning-pmi", "eq-meaning-npmi", "eq-meaning-mean", source="Röder et al. (2015)")
def test_the_five_documents():
    """Numbers that were computed elsewhere, from counts by hand (1e-6)."""

    def value(measure, topic=TOPIC, **options):
        return measure([topic], FIVE, window=None, **options).mean

    assert value(coherence.umass) == pytest.approx(math.log(2 / 3), abs=1e-14)
    assert value(coherence.umass, convention="roeder") == pytest.approx(-0.597253, abs=5e-7)
    assert value(coherence.uci) == pytest.approx(-0.182322, abs=5e-7)
    assert value(coherence.npmi) == pytest.approx(-0.042454, abs=5e-7)
    assert value(coherence.umass, ["0", "4"]) == pytest.approx(-0.405465, abs=5e-7)
    assert value(coherence.umass, ["4", "0"]) == pytest.approx(0, abs=1e-15)
    assert value(coherence.npmi, ["0", "4"]) == value(coherence.npmi, ["4", "0"])


@each_engine
@verify.checks("eq-meaning-mean", source="Faleiros & Lopes (5.3), with erratum")
def test_the_sum_as_printed_counts_words_with_themselves(kernels):
    """The right sum of the five documents is -0.1274; that of the printed range of pairs, 2.3095 (5e-5)."""
    n_windows, joint = kernels.count_windows(*cases.counting(cases.DOCUMENTS, [0, 1, 2], 0).values())
    scores = kernels.npmi(joint, n_windows, 0.0)
    mean, pairs = kernels.mean_over_pairs(scores, joint)
    assert mean[0] * pairs[0] == pytest.approx(-0.1274, abs=5e-5)
    assert scores[0, :, :2].sum() == pytest.approx(2.3095, abs=5e-5)


# ------------------------------------------------------------------------------------------ definitions, once more


@pytest.mark.parametrize("size", [None, 2, 3, 10, 29, 30, 31, 110])
@verify.checks("eq-meaning-windows", source="Röder et al. (2015), section 3.2")
def test_windows_are_those_cut_out_one_by_one(size):
    windows = windows_of(CORPUS.documents(), size)
    for measure in (coherence.umass, coherence.uci, coherence.npmi, coherence.cv):
        assert measure(TOPICS, CORPUS, window=size).n_windows == len(windows)
    ids = np.array([[int(word[1:]) for word in topic] for topic in TOPICS], dtype=np.int32)
    expected = cases.joint_of(windows, TOPICS)
    arguments = CORPUS.words, CORPUS.doc_start, ids, size or 0
    assert np.array_equal(fast.count_windows(*arguments)[1], expected)
    assert np.array_equal(reference.count_windows(*arguments)[1], expected)


@pytest.mark.parametrize("size", [None, 2, 10])
@verify.checks("eq-meaning-umass", "eq-meaning-pmi", "eq-meaning-npmi", "eq-meaning-mean", source="Röder et al. (2015)")
def test_means_over_pairs_are_those_of_the_definitions(size):
    """Each pair from its own two sets of windows (1e-12)."""
    windows = windows_of(CORPUS.documents(), size)
    for t, topic in enumerate(TOPICS):
        pairs = [(topic[m], topic[i]) for m in range(4) for i in range(m)]  # a better ranked word comes second
        umass = [math.log((share(windows, a, b) + 1e-12) / share(windows, b)) for a, b in pairs]
        pmi = [math.log((share(windows, a, b) + 1e-12) / share(windows, a) / share(windows, b)) for a, b in pairs]
        npmi = [npmi_of(windows, a, b) for a, b in pairs]
        found = coherence.umass(TOPICS, CORPUS, window=size, convention="roeder")
        assert found.values[t] == pytest.approx(np.mean(umass), abs=1e-12)
        assert coherence.uci(TOPICS, CORPUS, window=size).values[t] == pytest.approx(np.mean(pmi), abs=1e-12)
        assert coherence.npmi(TOPICS, CORPUS, window=size).values[t] == pytest.approx(np.mean(npmi), abs=1e-12)


@pytest.mark.parametrize("size", [None, 10, 110])
@verify.checks("eq-meaning-cv", source="Röder, Both & Hinneburg (2015), sections 3.1 to 3.4")
def test_cv_is_made_as_its_paper_says(size):
    """One-set segmentation, NPMI to the power gamma = 1 as confirmation, cosine of vectors, arithmetic mean (1e-12).

    The segmentation pairs each single word W' with the set W* of all of them. The vector of a set has an entry for each
    word of the topic: the sum, over the words of the set, of their confirmations with it.
    """
    windows, gamma = windows_of(CORPUS.documents(), size), 1
    for t, topic in enumerate(TOPICS):

        def vector(words, topic=topic):
            return [math.fsum(npmi_of(windows, a, b) ** gamma for a in words) for b in topic]

        cosines = []
        for chosen, every in [({word}, set(topic)) for word in topic]:
            v, w = vector(chosen), vector(every)
            product = math.fsum(x * y for x, y in zip(v, w, strict=True))
            cosines.append(product / (math.hypot(*v) * math.hypot(*w)))
        assert coherence.cv(TOPICS, CORPUS, window=size).values[t] == pytest.approx(np.mean(cosines), abs=1e-12)


@pytest.mark.parametrize("n_words", [2, 3, 4, 10])
@verify.checks("eq-meaning-cv", source="Röder, Both & Hinneburg (2015)")
def test_cv_of_strangers_is_high(n_words):
    """M words that never meet: rows are -1 but for a 1, their sum is 2 - M throughout, and so C_V = (M - 2) / M."""
    words = [f"w{v}" for v in range(n_words)]
    corpus = Corpus.from_documents([[word, "other"] for word in words])
    assert coherence.cv([words], corpus, window=None).mean == pytest.approx((n_words - 2) / n_words, abs=1e-14)
    assert coherence.npmi([words], corpus, window=None).mean == -1


# ------------------------------------------------------------------------------------------------------------- bridges


@each_engine
@verify.checks("eq-meaning-bridge", source="Mimno et al. (2011); Röder et al. (2015)")
def test_the_sum_of_mimno_is_the_mean_of_roeder_many_times(kernels):
    """With epsilon one document's share: the sum, written with whole counts, is M (M - 1) / 2 of the mean (1e-12)."""
    documents = [set(document) for document in CORPUS.documents()]

    def together(*words):
        return sum(set(words) <= document for document in documents)

    ids = np.array([[int(word[1:]) for word in topic] for topic in TOPICS], dtype=np.int32)
    n_windows, joint = kernels.count_windows(CORPUS.words, CORPUS.doc_start, ids, 0)
    mean, _ = kernels.mean_over_pairs(kernels.umass(joint, n_windows, 1 / n_windows), joint)
    for t, topic in enumerate(TOPICS):
        mimno = math.fsum(
            math.log((together(topic[m], topic[i]) + 1) / together(topic[i])) for m in range(1, 4) for i in range(m)
        )
        assert mean[t] * 6 == pytest.approx(mimno, abs=1e-12)
        assert coherence.umass(TOPICS, CORPUS).values[t] == pytest.approx(mimno, abs=1e-12)
    roeder = coherence.umass(TOPICS, CORPUS, convention="roeder", epsilon=1 / CORPUS.n_documents)
    assert roeder.values == pytest.approx(mean, abs=1e-12)


@each_engine
@verify.checks("eq-meaning-epsilon", source="Röder et al. (2015), who add 1e-12")
def test_with_an_epsilon_never_is_not_minus_one(kernels):
    """-0.667 for two words in every hundredth window (5e-4), -1 in the limit, and slowly: log over log."""

    def value(epsilon):
        return kernels.npmi(*cases.pair(1, 1, 0, 100, epsilon).values())[0, 0, 1]

    assert value(1e-12) == pytest.approx(-0.667, abs=5e-4) and value(0.0) == -1
    for epsilon in (1e-6, 1e-12, 1e-24, 1e-96):
        assert value(epsilon) == pytest.approx(-1 + math.log(1e-4) / math.log(epsilon), abs=1e-12)
    documents = [["a"], ["b"], *[["c"]] * 98]
    corpus = Corpus.from_documents(documents)
    assert coherence.npmi([["a", "b"]], corpus, window=None).mean == -1
    assert coherence.npmi([["a", "b"]], corpus, window=None, epsilon=1e-12).mean == pytest.approx(-2 / 3, abs=1e-12)


# --------------------------------------------------------------------------------------------------------------- range


@st.composite
def four_counts(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Windows with i, with j, with both, and all: any that can be, by the ten million too."""
    n_windows = draw(st.integers(1, 12) | st.integers(1, 9 * 10**7))
    n_i, n_j = (draw(st.integers(1, n_windows) | st.just(n_windows)) for _ in range(2))
    least, most = max(0, n_i + n_j - n_windows), min(n_i, n_j)
    return n_i, n_j, draw(st.sampled_from([least, most]) | st.integers(least, most)), n_windows


@each_engine
@given(counts=four_counts())
@settings(max_examples=300)
@verify.checks("eq-meaning-range", "eq-meaning-npmi", source="Bouma (2009)")
def test_npmi_is_from_minus_one_to_one(kernels, counts):
    """Not beyond by one bit; -1 just for words that never meet, 0 just at independence or in every window."""
    n_i, n_j, n_both, n_windows = counts
    scores = kernels.npmi(*cases.pair(*counts, 0.0).values())[0]
    value = scores[0, 1]
    assert -1 <= value <= 1 and value == scores[1, 0]
    assert (value == -1) == (n_both == 0)
    if n_both == n_i == n_j < n_windows:
        assert value == 1
    if max(n_i, n_j) <= 10**6 and n_both:  # else a difference may be too small to be seen
        assert (value == 0) == (n_both * n_windows == n_i * n_j)
        assert (value > 0) == (n_both * n_windows > n_i * n_j)
    assert all(scores[i, i] == (n < n_windows) for i, n in enumerate((n_i, n_j)))  # with itself
    for epsilon in (1e-12, 1e-3, 1.0):
        assert np.isfinite(kernels.npmi(*cases.pair(*counts, epsilon).values())).all()


@each_engine
def test_words_in_every_window_tell_nothing(kernels):
    """0, though log(P + epsilon) has the other sign there, and the formula as it stands says -1."""
    for epsilon in (0.0, 1e-12, 1e-3):
        assert not kernels.npmi(*cases.pair(7, 7, 7, 7, epsilon).values()).any()
    p = 1 + 1e-12
    assert math.log(p) / -math.log(p) == -1


# ----------------------------------------------------------------------------------------------------------- symmetries

MEASURES = [
    (coherence.umass, {}),
    (coherence.umass, {"convention": "roeder"}),
    (coherence.uci, {}),
    (coherence.npmi, {}),
    (coherence.npmi, {"epsilon": 1e-12}),
    (coherence.cv, {}),
]
each_measure = pytest.mark.parametrize(("measure", "options"), MEASURES)
drawn_corpora = st.lists(st.lists(st.sampled_from("abcde"), max_size=7), min_size=1, max_size=5).filter(
    lambda documents: len(set().union(*documents)) >= 3
)


@each_measure
@given(documents=drawn_corpora, window=st.sampled_from([None, 2, 3, 10]), order=st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_what_changes_nothing(measure, options, documents, window, order):
    """The order of documents, their number of copies, what words are called, other topics beside, threads.

    Mimno's one more is one of fewer when there are more documents: his sum falls as copies are added, to a limit.
    """
    topic = sorted(set().union(*documents))[:3]
    options = options | {"window": window}
    found = measure([topic], Corpus.from_documents(documents), **options).values
    assert np.isfinite(found).all()

    shuffled = order.sample(documents, len(documents))
    vocabulary = order.sample("abcdefgh", 8)
    renamed = [[word.upper() * 2 for word in document] for document in shuffled]
    upper = [word.upper() * 2 for word in vocabulary]
    same = measure([[word.upper() * 2 for word in topic]], Corpus.from_documents(renamed, upper), **options)
    assert np.array_equal(same.values, found)

    both = measure([topic[::-1], topic], Corpus.from_documents(shuffled), n_jobs=2, **options).values
    assert both[1] == found[0]
    if measure is not coherence.umass:
        assert both[0] == pytest.approx(found[0], abs=1e-12)  # which word is first plays no part

    copies = measure([topic], Corpus.from_documents(documents * 3), **options).values
    if options.get("convention", "mimno") == "mimno" and measure is coherence.umass:
        assert copies[0] < found[0]
    else:
        assert copies == pytest.approx(found, abs=1e-11)


@verify.checks("eq-meaning-umass", source="Mimno et al. (2011)")
def test_umass_hangs_on_the_ranking():
    """Words 0 and 4 of the five documents, in both orders; and which of the two is the condition."""
    there, back = coherence.umass([["0", "4"], ["4", "0"]], FIVE).values
    assert (there, back) == pytest.approx((math.log(2 / 3), 0), abs=1e-14)


def test_threads_change_no_bit():
    corpus = random_corpus(3, n_documents=300)
    for size in (None, 2, 10):
        runs = [coherence.cv(TOPICS, corpus, window=size, n_jobs=n).values for n in (None, 2, 3, 5)]
        assert all(np.array_equal(run, runs[0]) for run in runs[1:])
    ids = np.array([[0, 1, 2]], dtype=np.int32)
    for n_threads, size in itertools.product((1, 2, 7), (0, 3)):
        for part in (corpus, corpus[:1], corpus[:2]):  # also fewer documents than threads, and only empty ones
            found = fast.count_windows_in_threads(part.words, part.doc_start, ids, size, n_threads)
            one = fast.count_windows(part.words, part.doc_start, ids, size)
            assert found[0] == one[0] and np.array_equal(found[1], one[1])


# ------------------------------------------------------------------------------------------------ diversity, redundancy


@verify.checks("eq-meaning-diversity", source="Dieng, Ruiz & Blei (2020)")
def test_diversity_is_the_share_of_different_words():
    """By hand; 1 for topics that share no word, 1 / K for K times the same."""
    assert coherence.diversity([["a", "b", "c", "d"], ["a", "e", "f", "b"]]) == 6 / 8
    assert coherence.diversity([["a", "b", "c", "d"], ["a", "e", "f", "b"]], n_top=1) == 1 / 2
    assert coherence.diversity([["a", "b"], ["c", "d"], ["e", "f"]]) == 1
    assert coherence.diversity([["a", "b"]] * 5) == 1 / 5


@verify.checks("eq-meaning-redundancy")
def test_redundancy_is_the_largest_cosine_with_another():
    """By hand: (3, 4, 0) / 7 and (4, 3, 0) / 7 have 24 / 25, the third has nothing of them (1e-15)."""
    from bnptopics import Topics

    rows = np.array([[3, 4, 0], [0, 0, 7], [4, 3, 0]]) / 7
    np.testing.assert_allclose(coherence.redundancy(Topics(rows)), [24 / 25, 0, 24 / 25], rtol=0, atol=1e-15)
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(30, 0.2), 6)
    expected = [
        max(phi[k] @ phi[j] / math.sqrt(phi[k] @ phi[k] * (phi[j] @ phi[j])) for j in range(6) if j != k)
        for k in range(6)
    ]
    np.testing.assert_allclose(coherence.redundancy(Topics(phi)), expected, rtol=0, atol=1e-14)
    twice = coherence.redundancy(Topics(np.repeat(rng.dirichlet(np.full(30, 0.2), 40), 2, axis=0)))
    np.testing.assert_allclose(twice, 1, rtol=0, atol=1e-14)
    assert twice.max() <= 1  # rounding or not
