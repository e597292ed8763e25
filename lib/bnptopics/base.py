"""What all estimators share: the contract `TopicModel`, the loop of every fit, held-out scores, saving and loading."""

import contextlib
import hashlib
import importlib
import json
import math
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from types import FrameType, MappingProxyType, ModuleType
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data
from tqdm.auto import tqdm

from ._formats import draft
from .corpus import Corpus
from .exports import to_pyldavis
from .streams import CorpusStream

FORMAT = 2
PRIOR_BOUNDS = (1e-6, 1e6)  # of priors that are learned: what each keeps to, of eta the mean


class Model(BaseEstimator):
    """What every estimator has, whatever it is fitted on: it is saved whole, and a failure leaves it as it was."""

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to `path` (a zip of arrays and JSON, nothing that runs code when read). See `load`."""
        save(self, path)

    @contextlib.contextmanager
    def _or_as_before(self, unless: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """What fails in here, Ctrl-C too, leaves the model as it was: with all of an earlier fit, or with none.

        Not so when by then something was learned, as `unless` tells: that is kept.
        """
        earlier = vars(self).copy()
        try:
            yield
        except BaseException:
            if not unless():
                vars(self).clear()
                vars(self).update(earlier)
            raise


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):
    """The contract of all topic models.

    A fitted model has `topic_word_` (K, V), also called `components_`, whose rows are distributions over words;
    `doc_topic_` (D, K), whose rows are distributions over topics for the documents it was fitted on; and `vocabulary_`.
    It gives topic proportions of new documents by `transform`, and scores them by document completion. A model that
    ran several chains takes `topic_word_` and `doc_topic_` from one of them, and predicts words by all.

    Input is a `Corpus`, or a matrix of counts (documents, words), dense or sparse.
    """

    topic_word_: NDArray[np.float64]
    doc_topic_: NDArray[np.float64]
    vocabulary_: tuple[str, ...]
    _corpus_digest: str

    @property
    def components_(self) -> NDArray[np.float64]:
        """`topic_word_` under scikit-learn's name."""
        return self.topic_word_

    @property
    def _n_features_out(self) -> int:
        return len(self.topic_word_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # counts: whole numbers
        return tags

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The `n` most probable words of each topic, best first; of equals, the one with the smaller id."""
        check_is_fitted(self)
        order = np.argsort(-self.topic_word_, axis=1, kind="stable")[:, : whole("n", n, 1)]
        return [[self.vocabulary_[v] for v in row] for row in order]

    def score(self, X: Corpus | ArrayLike, y: None = None) -> float:
        """Mean log probability of held-out tokens by document completion, in nats a token; larger is better.

        The tokens of each document, sorted by word id, are put into an order that is random but fixed (the same for
        every model, so that scores can be compared). From the first half, ceil(n / 2) tokens, `transform` estimates
        the document's topic proportions; the other half is scored by the probability sum_k theta_k phi_k(word). The
        score is the sum of the logarithms over all scored tokens, divided by their number, so that doubling the
        documents leaves it unchanged and the score of a union is the token-weighted mean. Documents with fewer than
        two tokens add nothing. With several chains a token's probability is the mean over chains, each with its own
        topics and proportions: what the topics are called plays no part. Source: Wallach, Murray, Salakhutdinov and
        Mimno (2009), document completion. `heldout.completion` is the same with more choices, and with an error.

        A model that smooths nothing can be sure that a word does not come: one that the fit never met, or one whose
        topics the first half has ruled out. One such token makes the score minus infinity, and the perplexity infinite:
        that is what the model says. Fewer topics or iterations make it rarer, a model with a prior does without.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            Documents that the model was not fitted on.
        y : None
            Ignored.

        Raises
        ------
        ValueError
            When no document has two tokens.
        """
        check_is_fitted(self)
        observed, scored = halves(self._as_corpus(X, reset=False))
        log_probability, _ = completion(self._by_chain(observed), scored)
        return math.fsum(log_probability) / scored.n_tokens

    def perplexity(self, X: Corpus | ArrayLike) -> float:
        """``exp(-score(X))``: the size of a fair die as hard to predict as a held-out token. Smaller is better."""
        return float(np.exp(-self.score(X)))

    def word_probabilities(self, X: Corpus | ArrayLike) -> NDArray[np.float64]:
        """Probability that the next word of each document is v: the mean over chains of sum_k theta_k phi_k(v).

        Topics may be averaged over chains only in quantities that do not depend on their labels. This is one.

        Parameters
        ----------
        X : Corpus or (D, V) counts
            Not too many documents at a time: the answer has D x V numbers.

        Returns
        -------
        probability : (D, V) float64
            Rows are positive and sum to one.
        """
        check_is_fitted(self)
        corpus = self._as_corpus(X, reset=False)
        total, n_chains = 0.0, 0
        for theta, phi in self._by_chain(corpus):
            total, n_chains = total + theta @ phi, n_chains + 1
        return total / n_chains

    def to_pyldavis(self, corpus: Corpus | ArrayLike) -> dict[str, Any]:
        """What pyLDAvis shows this model by: ``pyLDAvis.prepare(**model.to_pyldavis(corpus))``.

        It works with a single topic, with topics that are alike, with empty documents (which weigh nothing) and with
        words that do not occur. pyLDAvis sorts topics by their size and counts them from 1; to have them numbered as
        here say ``prepare(**model.to_pyldavis(corpus), sort_topics=False, start_index=0)``.

        Parameters
        ----------
        corpus : Corpus or (D, V) counts
            The documents of the fit, or others with its vocabulary.

        Returns
        -------
        arguments : dict
            `topic_term_dists` (K, V), `doc_topic_dists` (D, K), `doc_lengths` (D,), `vocab` list of V words,
            `term_frequency` (V,), and `mds`, which places topics in the plane: `exports.map_of_topics`.

        Raises
        ------
        ValueError
            When `corpus` has another vocabulary or no token.
        """
        return to_pyldavis(self, corpus)

    def _by_chain(self, corpus: Corpus) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Topic proportions (D, K) of documents and word probabilities (K, V) of topics, as each chain has them."""
        yield np.asarray(self.transform(corpus)), self.topic_word_

    def _as_fitted_corpus(self, X: Corpus | ArrayLike) -> Corpus:
        """`X` as bags of words, checked to be the documents of the fit, for a fit that goes on."""
        corpus = self._as_corpus(X, reset=False)
        if not self._was_fitted_on(corpus):
            raise ValueError(
                "X is not the corpus of the fit: resume goes on with the same documents in the same order."
            )
        return corpus

    def _was_fitted_on(self, corpus: Corpus) -> bool:
        """Are these the documents of the fit? The same counts may come without names of words, or have come so."""
        renamed = Corpus(corpus.words, corpus.doc_start, self.vocabulary_, ordered=False)
        return digest(renamed) == self._corpus_digest

    def _as_corpus(self, X: Corpus | ArrayLike, *, reset: bool, may_be_empty: bool = False) -> Corpus:
        """`X` as bags of words, checked: against the vocabulary of the fit unless `reset`, which wants some token."""
        if isinstance(X, Corpus):
            corpus = X
        else:
            refuse_streams(X)
            names = names_of_columns(X)
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric", estimator=self)
            check_non_negative(X, f"{type(self).__name__}: X holds counts, which are whole numbers >= 0")
            corpus = Corpus.from_counts(X, names, _name="X")
        if not reset:
            check_vocabulary(corpus, self.vocabulary_)
        corpus = corpus.bags()
        if reset:
            if not (corpus.n_tokens or may_be_empty):
                raise ValueError(
                    "X has no token: there is nothing to learn from. Give documents that are not all empty."
                )
            if isinstance(X, Corpus) and hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self.n_features_in_ = corpus.vocab_size
            self.vocabulary_ = corpus.vocabulary
            self._corpus_digest = digest(corpus)
        return corpus


# ----------------------------------------------------------------------------------------------- held-out documents


def as_corpus(X: Corpus | ArrayLike, vocabulary: tuple[str, ...]) -> Corpus:
    """`X` as a corpus, in the order of its text if it has one, checked against the vocabulary of a model."""
    refuse_streams(X)
    corpus = X if isinstance(X, Corpus) else Corpus.from_counts(X, names_of_columns(X), _name="X")
    check_vocabulary(corpus, vocabulary)
    return corpus


def refuse_streams(X: Any) -> None:
    """What can be read only once, or batch by batch, is neither a corpus nor a matrix."""
    if isinstance(X, Iterator):
        raise TypeError(
            f"X is a {type(X).__name__}, which can be read only once: give a Corpus, such as "
            "Corpus.from_documents(X), or a matrix of counts."
        )
    if isinstance(X, CorpusStream):
        raise TypeError("X is a CorpusStream, which is read batch by batch: give a Corpus, or one batch at a time.")


def names_of_columns(X: Any) -> list[str] | None:
    """The words that a data frame has as the names of its columns, if it is one and all are str."""
    columns = list(getattr(X, "columns", ()))
    return columns if columns and all(isinstance(name, str) for name in columns) else None


def check_vocabulary(corpus: Corpus, vocabulary: tuple[str, ...]) -> None:
    """The words of a corpus are those of a model, with the same ids; words without names suit any of that number."""
    if corpus.vocab_size != len(vocabulary):
        raise ValueError(
            f"X has a vocabulary of {corpus.vocab_size} words, and the model was fitted on {len(vocabulary)}. "
            "Build X with the vocabulary of the fit: Corpus.from_texts(texts, vocabulary=model.vocabulary_)."
        )
    unnamed = tuple(map(str, range(corpus.vocab_size)))
    if corpus.vocabulary != vocabulary and unnamed not in (corpus.vocabulary, vocabulary):
        at = next(v for v, word in enumerate(corpus.vocabulary) if word != vocabulary[v])
        raise ValueError(
            f"X has another vocabulary than the fit: word {at} is {corpus.vocabulary[at]!r} here and was "
            f"{vocabulary[at]!r} there. Build X with vocabulary=model.vocabulary_."
        )


def halves(corpus: Corpus, split: str = "random") -> tuple[Corpus, Corpus]:
    """Split each document's tokens into (observed, scored) halves of ceil(n / 2) and floor(n / 2) tokens, as bags.

    Parameters
    ----------
    corpus : Corpus
    split : {"random", "half", "alternate"}
        "random": the n-th token of every document's bag, in order of word ids, gets the n-th of a fixed list of random
        numbers; the tokens with the smaller numbers are observed. "half": the first half of the text is observed.
        "alternate": the first, third, fifth, ... token. With each, a document's halves depend on nothing but itself.

    Raises
    ------
    ValueError
        When a split by position is asked of bags of words.
    """
    if one_of("split", split, ("random", "half", "alternate")) == "random":
        corpus = corpus.bags()
    elif not corpus.ordered:
        raise ValueError(
            f"split is {split!r}, which needs the order of the tokens, and X has bags of words: give a Corpus made of "
            "texts, or split='random'."
        )
    documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    position = np.arange(corpus.n_tokens) - corpus.doc_start[documents]
    if split == "alternate":
        observed = position % 2 == 0
    else:
        observed = position < (corpus.lengths[documents] + 1) // 2
    if split == "random":
        key = np.random.default_rng(0).random(int(corpus.lengths.max()))[position]
        order = np.lexsort((key, documents))
        observed[order] = observed.copy()
    return tokens_where(corpus, observed), tokens_where(corpus, ~observed)


def tokens_where(corpus: Corpus, chosen: NDArray[np.bool_]) -> Corpus:
    """The same documents, as bags, with only the tokens chosen (N,); labels stay."""
    doc_start = np.concatenate([[0], np.cumsum(chosen)])[corpus.doc_start]
    return Corpus(corpus.words[chosen], doc_start, corpus.vocabulary, labels=corpus.labels, ordered=False)


def completion(
    by_chain: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]], scored: Corpus
) -> tuple[NDArray[np.float64], int]:
    """Log probability of each document's scored tokens, given its topic proportions: one function behind all scores.

    A token's probability is sum_k theta_k phi_k(word), the mean over chains.

    Parameters
    ----------
    by_chain : pairs of (D, K) and (K, V) arrays
        Topic proportions and topics of each chain.
    scored : Corpus
        Bags of words. A document's value depends on nothing but its own row and tokens.

    Returns
    -------
    log_probability : (D,) float64
        In nats; 0 for a document without scored tokens, minus infinity for one with a token that is impossible.
    impossible : int
        Number of tokens of probability zero.

    Raises
    ------
    ValueError
        When there is no token to score.
    """
    if not scored.n_tokens:
        raise ValueError("X has no document of two tokens or more: completion scores one half given the other.")
    documents = np.repeat(np.arange(scored.n_documents), scored.lengths)
    probability = np.zeros(scored.n_tokens)
    n_chains = 0
    for theta, phi in by_chain:
        n_chains += 1
        theta, phi_vk = np.ascontiguousarray(theta), np.ascontiguousarray(phi.T)
        for at in range(0, scored.n_tokens, 4096):  # never N x K numbers at once
            part = slice(at, at + 4096)
            probability[part] += np.sum(theta[documents[part]] * phi_vk[scored.words[part]], axis=1)
    with np.errstate(divide="ignore"):
        logs = np.log(probability / n_chains)
    return np.bincount(documents, logs, scored.n_documents), int(np.sum(probability == 0))


def type_form(corpus: Corpus) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """A corpus as variational kernels read it: an entry for each distinct word of each document, in order of ids.

    Returns
    -------
    words, counts : (M,) int32
        The word of each entry, and how often it occurs in its document, at least once.
    doc_start : (D + 1,) int64
        The entries of document d are ``doc_start[d]:doc_start[d + 1]``.
    """
    cells = corpus.counts
    return cells.indices.astype(np.int32), cells.data.astype(np.int32), cells.indptr.astype(np.int64)


def iterate(
    n_iterations: int, *, what: str, verbose: bool | None, until: Callable[[], bool] | None = None
) -> Iterator[int]:
    """The loop of every fit: 0, 1, ..., with a progress bar, and with Ctrl-C taken between two iterations.

    Parameters
    ----------
    n_iterations : int
    what : str
        Shown beside the bar.
    verbose : bool or None
        True shows the bar, False hides it, None shows it on a terminal. It appears after a second.
    until : callable or None
        Asked after each iteration: True ends the loop. To `break` would lose a Ctrl-C of the last iteration.

    Raises
    ------
    KeyboardInterrupt
        After the iteration in which Ctrl-C was pressed has ended, so that the caller's state is whole. A second Ctrl-C
        does not wait.
    """
    pressed = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, previous)

    in_main = threading.current_thread() is threading.main_thread()
    previous = signal.getsignal(signal.SIGINT) if in_main else None
    takes_over = previous is signal.default_int_handler  # another handler, or none, is respected
    if takes_over:
        signal.signal(signal.SIGINT, remember)
    try:
        disable = None if verbose is None else not verbose
        for iteration in tqdm(range(n_iterations), desc=what, delay=1.0, disable=disable, leave=False):
            yield iteration
            if pressed:
                raise KeyboardInterrupt(f"stopped after {iteration + 1} of {n_iterations} iterations of {what}")
            if until is not None and until():
                return
    finally:
        if takes_over:
            signal.signal(signal.SIGINT, previous)


# ------------------------------------------------------------------------------------------------ parameters


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """A Generator from `random_state`: None for fresh entropy, an int >= 0 as a seed, a Generator as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_seed = isinstance(random_state, Integral) and not isinstance(random_state, bool) and random_state >= 0
    if random_state is None or is_seed:
        return np.random.default_rng(random_state)
    raise ValueError(f"random_state is {random_state!r}: give None, a whole number from 0, or a numpy Generator.")


def whole(name: str, value: Any, least: int) -> int:
    """`value` as an int, checked to be a whole number from `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}: it must be a whole number from {least}.")
    return int(value)


def number(name: str, value: Any, wanted: str, holds: Callable[[float], bool]) -> float:
    """`value` as a float, checked to be a finite number that is what is `wanted`, such as "from 0"."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool)
    try:
        is_number = is_number and math.isfinite(value)
    except OverflowError:  # a whole number that is too large for a float
        is_number = False
    if not (is_number and holds(value)):
        raise ValueError(f"{name} is {value!r}: it must be a number {wanted}.")
    return float(value)


def one_of(name: str, value: Any, choices: tuple[str | None, ...]) -> str | None:
    """`value`, checked to be one of the `choices`."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{name} is {value!r}: it must be {', '.join(others)} or {last}.")
    return value


def kernels_of(room: str, engine: str) -> ModuleType:
    """The kernels of a room, named by its package: for `engine` "fast" those of numba, for "reference" the readable."""
    return importlib.import_module(f".{one_of('engine', engine, ('fast', 'reference'))}", room)


def learns(name: str, optimise_priors: str | None) -> bool:
    """Is the prior called `name`, "alpha" or "eta", to be learned?"""
    return one_of("optimise_priors", optimise_priors, (None, "alpha", "eta", "both")) in (name, "both")


def check_start(name: str, given: Any, values: NDArray[np.float64] | float, bounds: tuple[float, float]) -> None:
    """Learning of the prior called `name` begins within the bounds that it keeps to, but for rounding."""
    low, high = bounds
    if not np.all((values > low * (1 - 1e-9)) & (values < high * (1 + 1e-9))):
        raise ValueError(f"{name} is {given!r}: to be learned it must begin between {low:g} and {high:g}.")


def check_finite(what: str, suspect: str = "alpha or eta", **parameters: NDArray[np.float64] | float) -> None:
    """Raise FloatingPointError where a parameter has become infinite or not a number. `what` was being done."""
    for name, values in parameters.items():
        if not np.isfinite(np.sum(values)):  # NaN and infinities outlive a sum, and no array of bools is made
            raise FloatingPointError(
                f"{name} has become infinite or not a number in {what}: the model is as it was before. Look for "
                f"extreme values of {suspect}; if there are none, this is a fault of the library."
            )


def threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for: None means 1, -1 all cores, -2 all but one, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: give None, a number of threads from 1, or -1 for all cores.")
    return effective_n_jobs(int(n_jobs))


def prior(name: str, value: float | ArrayLike, size: int, each: str) -> NDArray[np.float64]:
    """A Dirichlet parameter as an array: a scalar holds for each component, an array has one entry for each.

    Never the sum over components: `alpha=0.1` is 0.1 for each topic.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.array("")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} is {value!r}: give a number above 0, or one for {each}.")
    if array.ndim and array.shape != (size,):
        raise ValueError(
            f"{name} has shape {array.shape}: give a number, or an array of shape ({size},), one for {each}."
        )
    array = np.array(np.broadcast_to(array, (size,)), dtype=np.float64)
    bad = ~((array >= 1e-100) & (array <= 1e100))  # products of two priors must neither vanish nor overflow
    if bad.any():
        where = f"[{int(bad.argmax())}]" if np.ndim(value) else ""
        raise ValueError(f"{name}{where} is {array[bad.argmax()]}: it must be above 0 and finite (1e-100 to 1e100).")
    return array


def digest(corpus: Corpus) -> str:
    """SHA-256 of a corpus's tokens, bounds and vocabulary: tells whether a fit is resumed on what it was begun on."""
    parts = (corpus.words, corpus.doc_start, corpus.fingerprint.encode())  # arrays are hashed where they lie
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


# ---------------------------------------------------------------------------------------------- save and load


def save(model: Model, path: str | os.PathLike) -> None:
    """Write a model's parameters and fitted state to `path`, whole or not at all.

    The file is a zip archive of NumPy arrays and one JSON text; nothing in it is code.
    """
    path = Path(path)
    arrays: dict[str, NDArray] = {}
    params = model.get_params(deep=False)
    record = {
        "format": FORMAT,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "params": {name: _encode(value, f"param.{name}", arrays) for name, value in params.items()},
        "state": {},
    }
    # A Generator given as `random_state` stays the one that the fit goes on drawing from.
    shared = {id(value): name for name, value in params.items() if isinstance(value, np.random.Generator)}
    for name, value in vars(model).items():
        if name not in params:
            record["state"][name] = _encode(value, f"state.{name}", arrays, shared)
    with draft(path) as file:
        np.savez_compressed(file, json=np.array(json.dumps(record, default=lambda numpy: numpy.tolist())), **arrays)


def load(path: str | os.PathLike) -> Model:
    """Read a model that was written by its `save` method.

    Raises
    ------
    ValueError
        When the file is not such a model, is damaged, or was written in another format.
    """
    with open(path, "rb") as file:
        try:  # a damaged file lets zipfile, zlib, tokenize, json and NumPy raise almost anything
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            record = json.loads(str(arrays.pop("json")))
            written = record["format"]
            module, _, name = record["class"].rpartition(".")
        except Exception as error:
            raise ValueError(f"{os.fspath(path)} is not a saved model, or is damaged: {error}.") from error
    if written != FORMAT:
        remedy = "fit and save the model anew" if isinstance(written, int) and written < FORMAT else "update it"
        raise ValueError(
            f"{os.fspath(path)} has format {written}, and this version of bnptopics reads {FORMAT}: {remedy}."
        )
    cls = None
    if module.startswith("bnptopics."):
        with contextlib.suppress(ImportError):
            cls = getattr(importlib.import_module(module), name, None)
    if not (isinstance(cls, type) and issubclass(cls, Model)):
        raise ValueError(f"{os.fspath(path)} holds a {record['class']}, which is not a topic model of bnptopics.")
    try:
        params = {name: _decode(value, arrays, {}) for name, value in record["params"].items()}
        state = {name: _decode(value, arrays, params) for name, value in record["state"].items()}
        model = cls(**params)
    except Exception as error:
        raise ValueError(f"{os.fspath(path)} is not a saved model, or is damaged: {error!r}.") from error
    vars(model).update(state)
    return model


def _encode(value: Any, name: str, arrays: dict[str, NDArray], shared: Mapping[int, str] = MappingProxyType({})) -> Any:
    """`value` as JSON; arrays are put aside under `name`, and what is in `shared` is named by its parameter."""
    if id(value) in shared:
        return {"param": shared[id(value)]}
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.ndarray):
        return {"objects": value.tolist()}  # the strings of feature_names_in_
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, tuple | list):
        content = [_encode(item, f"{name}.{i}", arrays, shared) for i, item in enumerate(value)]
        return content if isinstance(value, list) else {"tuple": content}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):  # what set_output leaves
        return {"dict": {key: _encode(item, f"{name}.{key}", arrays, shared) for key, item in value.items()}}
    raise TypeError(f"{name} is a {type(value).__name__}, which cannot be saved")


def _decode(value: Any, arrays: dict[str, NDArray], params: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays, params) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "param":
        return params[content]
    if kind == "objects":
        return np.array(content, dtype=object)
    if kind == "dict":
        return {key: _decode(item, arrays, params) for key, item in content.items()}
    if kind == "tuple":
        return tuple(_decode(content, arrays, params))
    source = getattr(np.random, content["bit_generator"], None)
    if not (isinstance(source, type) and issubclass(source, np.random.BitGenerator)):  # never np.random.seed()
        raise ValueError(f"{content['bit_generator']!r} is no source of random numbers")
    generator = np.random.Generator(source())
    generator.bit_generator.state = content
    return generator
