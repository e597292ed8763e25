"""Which model, how many topics? Fits over models, numbers of topics and seeds, measured alike, as one table."""

import contextlib
import hashlib
import inspect
import json
import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from tqdm.auto import tqdm

from . import coherence, heldout
from ._formats import draft
from .base import TopicModel, digest, whole
from .corpus import Corpus
from .matching import stability
from .topics import distributions

FORMAT = 1
SUFFIXES = ("_error", "_monte_carlo", "_impossible", "_runs")  # of columns that say more of the one before
HELD_OUT = ("completion", "bound", "plug_in", "importance_sampling", "left_to_right", "exact")
COHERENCE = ("npmi", "uci", "umass", "cv")
OTHER = ("diversity", "redundancy", "topics_holding", "stability")
DEFAULT = ("completion", "npmi", "diversity", "redundancy", "topics_holding", "stability")

Measures = Iterable[str] | Mapping[str, Mapping[str, Any] | None]


def compare(
    models: Mapping[str, BaseEstimator] | Iterable[BaseEstimator],
    corpus: Corpus | ArrayLike,
    *,
    n_topics: int | Iterable[int] | None = (10, 20, 50, 100),
    random_states: int | Iterable[int] = (0, 1, 2),
    test: float | int | Corpus = 0.2,
    test_seed: int = 0,
    measures: Measures = DEFAULT,
    reference: Corpus | None = None,
    path: str | os.PathLike | None = None,
    verbose: bool | None = None,
) -> pd.DataFrame:
    """Fit each model with each number of topics and each seed, and measure all fits alike.

    A clone of each model is fitted on the training documents. It is measured by documents that it has not seen, by how
    often the top words of its topics meet, by how different its topics are from each other, and by whether other seeds
    find the same ones. These need not agree on what is best: see the chapter *Does it mean anything?*

    Parameters
    ----------
    models : mapping from names to estimators, or iterable of estimators of different classes
        Not fitted; they stay as they are. Whatever is cloned by scikit-learn, is fitted by ``fit(Corpus)`` and then has
        `topic_word_`, whose rows are distributions, and `vocabulary_`, that of the corpus.
    corpus : Corpus or (D, V) counts
    n_topics : int >= 1 or several, or None
        Given to models with such a parameter; others are fitted as they are. None: each model keeps its own.
    random_states : int >= 0 or several
        Seeds, given to models with such a parameter; others are fitted once.
    test : float between 0 and 1, int, or Corpus
        Share or number of documents that are held out, as in `Corpus.split`; or the held-out documents themselves, of
        the vocabulary of `corpus`, all of which is fitted then.
    test_seed : int >= 0, default 0
        Seed of the split. All fits share one split.
    measures : names, or mapping from names to options
        Held-out probability, of `bnptopics.heldout`: "completion", "bound", "plug_in", "importance_sampling",
        "left_to_right", "exact". Coherence, of `bnptopics.coherence`: "npmi", "uci", "umass", "cv". Of the topics:
        "diversity", "redundancy", "topics_holding", "stability". Options go to the function of that name. With an
        option `method` the name may be any: ``{"ten particles": {"method": "left_to_right", "n_particles": 10}}``. The
        option `n_documents` of held-out probability takes so many test documents, spread evenly, and not all.
        Coherence leaves out pairs with a word that the reference corpus does not have, and a note says so, unless
        ``{"npmi": {"unseen": "error"}}``.
    reference : Corpus, optional
        Where coherence counts how often words meet. Without it the training documents.
    path : path of a file, optional
        Each fit is written there when it is done, and a call that finds it there does not repeat it: after Ctrl-C or a
        crash the same call goes on, and one with more seeds, models or numbers of topics adds to what there is. A fit
        that failed is tried again, a measure that failed is not. A fit is known by the class and parameters of its
        model, number of topics, seed, documents, measures, and the version of this library. For "stability" the topics
        are kept too, in a folder beside the file. Processes may share the file, and keep what the others write, but
        share no work: give them different seeds. Without a path nothing survives Ctrl-C.
    verbose : bool or None
        Progress bar: None shows it on a terminal, if it takes longer than a second.

    Returns
    -------
    table : pandas.DataFrame
        A row for each model, number of topics and seed, in this order, with the columns

        ============================== =================================================================================
        ``model``                      its name
        ``n_topics``                   the number of topics, K: as given, or as found
        ``random_state``               the seed, missing for a model that takes none
        ``seconds``                    time of the fit by the clock on the wall. It is that of this machine and of what
                                       else it did; what numba compiles is compiled before
        ``cpu_seconds``                processor time of the fit, all threads together: other programs matter less
        ``perplexity_completion``      exp(minus the mean log probability of the tokens scored), and so for each measure
                                       of held-out probability. Smaller is better. Infinite when a token is impossible
        ``perplexity_..._error``       its standard error over test documents, without what another seed would change.
                                       All rows share the documents: differences between rows are known better than this
        ``perplexity_..._monte_carlo`` of the sampled methods: standard deviation due to the finite number of particles
        ``perplexity_..._impossible``  how many tokens have probability zero
        ``npmi``                       the mean over topics, and so for each measure of coherence. Larger is better
        ``npmi_error``                 its standard error over topics, as if they were independent
        ``diversity``                  share of different words among the top 25 of all topics
        ``redundancy``                 mean over topics of the cosine with the topic most like it
        ``topics_holding``             how few topics hold 95 % of the tokens
        ``stability``                  mean similarity of matched topics to the fits with the other seeds (`stability`)
        ``stability_runs``             how many these were
        ``error``                      what went wrong, in the fit or in a measure; empty if nothing did
        ``note``                       why a value is missing that this model cannot have
        ============================== =================================================================================

        A missing value is NaN, in columns of whole numbers (Int64) NA, and ``error`` or ``note`` says why. Models
        without a prior of documents, such as `KLNMF` and `PLSI`, have no probability of a document as a whole: of
        held-out probability only "completion" can be compared, each model folding documents in by itself (or all by
        EM: ``{"completion": {"fold_in": "em"}}``), and "plug_in" as a measure of fit, unless the option `alpha` gives
        them a prior, as one number for all topics.

    Raises
    ------
    ValueError, TypeError
        For bad arguments, before anything is fitted; when the file at `path` is damaged or no file of this function.
        What a single fit or measure raises stands in its row.
    KeyboardInterrupt
        After Ctrl-C; what is finished stands in the file.

    See Also
    --------
    summary : means over seeds, with errors.

    Examples
    --------
    >>> from bnptopics import GibbsLDA, KLNMF, compare, datasets
    >>> corpus, _ = datasets.make_lda_corpus(50, 30, 3, 20, random_state=0)
    >>> table = compare([GibbsLDA(n_sweeps=20, burn_in=10), KLNMF()], corpus, n_topics=(2, 3), random_states=(0, 1))
    >>> table.groupby("model").size().to_dict()
    {'GibbsLDA': 4, 'KLNMF': 4}
    """
    models = _as_models(models)
    sizes = [None] if n_topics is None else _as_numbers("n_topics", n_topics, 1)
    seeds = _as_numbers("random_states", random_states, 0)
    asked = _as_measures(measures)
    train, held_out = _as_split(corpus, test, test_seed)
    reference = train if reference is None else reference
    if not isinstance(reference, Corpus):
        raise TypeError(f"reference is a {type(reference).__name__}: give a Corpus.")
    _try_measures(asked, held_out, reference)
    common = {
        "documents": [digest(train), digest(held_out), digest(reference)],
        "ordered": [part.ordered for part in (train, held_out, reference)],
        "measures": {measure.name: [measure.method, _plain(measure.name, measure.options)] for measure in asked},
        "version": version("bnptopics"),
    }
    plan = [_Fit(name, model, k, seed, common) for k in sizes for name, model in models.items() for seed in seeds]
    plan = [*{(fit.name, fit.n_topics, fit.seed): fit for fit in plan}.values()]  # once where K or seed play no part
    store = _Store(path, keeps_topics=any(measure.method == "stability" for measure in asked))
    todo = [*{fit.key: fit for fit in plan if not store.has(fit.key)}.values()]
    disable = None if verbose is None else not verbose
    warm: set[str] = set()
    with tqdm(total=len(todo), desc="compare", delay=1.0, disable=disable, leave=False) as bar:
        for done, fit in enumerate(todo):
            bar.set_postfix_str(str(fit))
            try:
                if fit.name not in warm:
                    _compile(fit.model, train)
                    warm.add(fit.name)
                store.add(fit.key, *_measured(fit, train, held_out, reference, asked))
            except KeyboardInterrupt as interrupt:
                kept = f"they stand in {store.path}" if path is not None else "without a path they are lost"
                interrupt.add_note(f"compare: {done} of {len(todo)} fits were finished; {kept}.")
                raise
            bar.update()
    rows = [_row(fit, store.records[fit.key]) for fit in plan]
    for measure in asked:
        if measure.method == "stability":
            _add_stability(measure.name, rows, plan, store)
    order = {name: i for i, name in enumerate(models)}
    rows = sorted(rows, key=lambda row: order[row["model"]])  # a stable sort: then by K, then by seed
    return table(rows, _columns(asked, rows))


def table(rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence], columns: Sequence[str] = ()) -> pd.DataFrame:
    """The table of `compare` from rows or columns as JSON holds them, None for missing and "inf" for infinite.

    Parameters
    ----------
    rows : list of rows, or mapping from names to columns
    columns : sequence of str, optional
        In which order columns come; without it as they are found.
    """
    frame = pd.DataFrame(rows, columns=list(columns) or None)
    for name in frame.columns:
        if name in ("model", "error", "note"):
            continue
        whole_numbers = name in ("n_topics", "random_state", "topics_holding") or name.endswith(
            ("_impossible", "_runs")
        )
        frame[name] = pd.to_numeric(frame[name]).astype("Int64" if whole_numbers else "float64")
    return frame


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """What the seeds agree on: for each model, number of topics and measure the mean over seeds, with two errors.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare`.

    Returns
    -------
    summary : pandas.DataFrame
        A row for each model, number of topics and measure, with the columns

        ============= =================================================================================================
        ``model``     its name
        ``n_topics``  the number of topics; of a model that finds it itself the mean over seeds, rounded; missing for
                      fits that failed before it was known
        ``measure``   the column of `table`
        ``mean``      the mean over seeds
        ``n``         of how many: failed fits and missing values are left out. With 0 the mean is NaN
        ``error``     standard error of the mean over seeds: standard deviation / sqrt(n). It says how much another set
                      of seeds would move the mean, for these documents. NaN with fewer than two seeds, or where a value
                      is infinite. Of stability, a mean over pairs, the jackknife over runs; NaN with fewer than three
        ``within``    the root mean square of the errors within fits: of perplexity over test documents, of coherence
                      over topics. It says how much other documents (topics) would move one fit. NaN where there is
                      none. More seeds do not make it smaller, and it is no error of a difference between models, which
                      are all judged by the same documents
        ============= =================================================================================================

    Raises
    ------
    ValueError
        When `table` has no columns of `compare`.
    """
    missing = [name for name in ("model", "n_topics", "random_state", "seconds") if name not in table.columns]
    if missing:
        raise ValueError(f"table has no column {missing[0]!r}: give what compare has returned.")
    aside = {"model", "n_topics", "random_state", "error", "note"}
    measured = [name for name in table.columns if name not in aside and not name.endswith(SUFFIXES)]
    rows = []
    for model, n_topics, group in _over_seeds(table):
        for name in measured:
            values = group[name].to_numpy(dtype=float)
            there = ~np.isnan(values)
            values = values[there]
            n = len(values)
            pairs = f"{name}_runs" in table.columns  # values are means over pairs of runs, and share them
            certain = n > 1 + pairs and np.isfinite(values).all()
            within = np.empty(0)
            if f"{name}_error" in table.columns:
                within = group[f"{name}_error"].to_numpy(dtype=float)[there]
            row = {"model": model, "n_topics": n_topics, "measure": name}
            row |= {"mean": values.mean() if n else math.nan, "n": n}
            row["error"] = values.std(ddof=1) / math.sqrt(n) if certain else math.nan
            if pairs and certain:
                row["error"] *= 2 * (n - 1) / (n - 2)  # the jackknife over runs of a mean over their pairs
            row["within"] = math.sqrt((within**2).mean()) if within.size and np.isfinite(within).all() else math.nan
            rows.append(row)
    names = ["model", "n_topics", "measure", "mean", "n", "error", "within"]
    return pd.DataFrame(rows, columns=names)


def _over_seeds(table: pd.DataFrame) -> Iterator[tuple[str, float, pd.DataFrame]]:
    """Model, number of topics and fits of each group of fits that differ by their seeds alone.

    A model that finds the number of topics itself, and another one with another seed, has one group: no seed twice.
    """
    for model, fits in table.groupby("model", sort=False):
        if fits["random_state"].notna().all() and not fits["random_state"].duplicated().any():
            known = fits["n_topics"].dropna()
            yield model, round(known.mean()) if len(known) else math.nan, fits
        else:
            yield from ((model, k, group) for k, group in fits.groupby("n_topics", sort=False, dropna=False))


# ------------------------------------------------------------------------------------------------- what is asked for


class _Measure(NamedTuple):
    name: str
    method: str
    options: dict[str, Any]

    @property
    def column(self) -> str:
        return f"perplexity_{self.name}" if self.method in HELD_OUT else self.name


class _Fit:
    """One fit of the plan: a model that is ready to be fitted, and the key it is known by in a file."""

    def __init__(self, name: str, model: BaseEstimator, k: int | None, seed: int, common: dict[str, Any]) -> None:
        takes = model.get_params(deep=False)
        self.name = name
        self.n_topics = k if k is not None and "n_topics" in takes else None
        self.seed = seed if "random_state" in takes else None
        given = {"n_topics": self.n_topics, "random_state": self.seed}
        self.model = clone(model).set_params(**{key: value for key, value in given.items() if value is not None})
        if self.n_topics is None and isinstance(takes.get("n_topics"), Integral):
            self.n_topics = int(takes["n_topics"])
        params = self.model.get_params(deep=False)
        params.pop("verbose", None)  # changes nothing
        kind = f"{type(model).__module__}.{type(model).__qualname__}"
        known_by = common | {"class": kind, "params": _plain(f"models[{name!r}]", params)}
        self.key = hashlib.sha256(json.dumps(known_by, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        size = "" if self.n_topics is None else f", {self.n_topics} topics"
        return f"{self.name}{size}" + ("" if self.seed is None else f", seed {self.seed}")


def _as_models(models: Any) -> dict[str, BaseEstimator]:
    if hasattr(models, "fit"):
        models = [models]
    if not isinstance(models, Mapping):
        if isinstance(models, str) or not isinstance(models, Iterable):
            raise TypeError(f"models is {models!r}: give a mapping from names to estimators, or a list of estimators.")
        models = list(models)
        names = [type(model).__name__ for model in models]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"models has {twice[0]} more than once: give a mapping from names to estimators.")
        models = dict(zip(names, models, strict=True))
    if not models:
        raise ValueError("models is empty: give one estimator or more.")
    for name, model in models.items():
        if not isinstance(name, str):
            raise TypeError(f"models has the name {name!r}: names are str.")
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
            raise TypeError(f"models[{name!r}] is {model!r}: give an estimator that is not fitted, such as GibbsLDA().")
    return dict(models)


def _as_numbers(name: str, values: Any, least: int) -> list[int]:
    given = list(values) if isinstance(values, Iterable) else [values]
    numbers = [whole(name, value, least) for value in given]
    if not numbers:
        raise ValueError(f"{name} is empty: give one number or more.")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{name} is {numbers}: each number is given once.")
    return numbers


def _as_measures(measures: Any) -> list[_Measure]:
    if isinstance(measures, str):
        measures = [measures]
    if not isinstance(measures, Iterable):
        raise TypeError(f"measures is {measures!r}: give names, or a mapping from names to options.")
    pairs = measures.items() if isinstance(measures, Mapping) else [(name, None) for name in measures]
    found = []
    for name, options in pairs:
        if not isinstance(name, str) or not isinstance(options, Mapping | None):
            raise TypeError(f"measures has {name!r}: {options!r}: give names, or a mapping from names to options.")
        options = dict(options or {})
        method = options.pop("method", name)
        if method not in HELD_OUT + COHERENCE + OTHER:
            at = "method" if method is not name else "measures"
            raise ValueError(f"{at} is {method!r}: there are {', '.join(HELD_OUT + COHERENCE + OTHER)}.")
        if method in COHERENCE:
            options.setdefault("unseen", "skip")
        if "n_documents" in options:
            if method not in HELD_OUT:
                raise ValueError(f"measures[{name!r}] has n_documents, which is an option of held-out probability.")
            options["n_documents"] = whole("n_documents", options["n_documents"], 1)
        if method != "stability":
            signature = inspect.signature(getattr(heldout if method in HELD_OUT else coherence, method))
            known = set(list(signature.parameters)[1 if method in OTHER else 2 :]) | {"n_documents"}
        else:
            known = set()
        if unknown := sorted(options.keys() - known):
            raise TypeError(f"measures[{name!r}] has the option {unknown[0]!r}: {method} has {sorted(known)}.")
        if method != name and name in HELD_OUT + COHERENCE + OTHER:
            raise ValueError(f"measures has {method} under the name {name!r}, which is another measure's.")
        if name.endswith(SUFFIXES):
            raise ValueError(f"measures has the name {name!r}: names that end with {', '.join(SUFFIXES)} are taken.")
        found.append(_Measure(name, method, options))
    names = [measure.column for measure in found]
    reserved = {"model", "n_topics", "random_state", "seconds", "cpu_seconds", "error", "note"}
    if twice := [name for name in names if names.count(name) > 1 or name in reserved]:
        raise ValueError(f"measures would have two columns {twice[0]!r}: give each another name.")
    return found


def _as_split(corpus: Any, test: Any, test_seed: int) -> tuple[Corpus, Corpus]:
    if not isinstance(corpus, Corpus):
        corpus = Corpus.from_counts(corpus, _name="corpus")
    if isinstance(test, Corpus):
        if test.vocabulary != corpus.vocabulary:
            raise ValueError("test has another vocabulary than corpus: build it with vocabulary=corpus.vocabulary.")
        train, held_out = corpus, test
    else:
        try:
            train, held_out = corpus.split(test, whole("test_seed", test_seed, 0))
        except ValueError as error:
            raise ValueError(str(error).replace("test_size is", "test is")) from None
    if not train.n_tokens:
        raise ValueError("corpus leaves no token to be fitted: give documents that are not all empty.")
    if held_out.lengths.max() < 2:
        raise ValueError("test has no document of two tokens or more: there is nothing to be predicted.")
    return train, held_out


def _try_measures(asked: list[_Measure], held_out: Corpus, reference: Corpus) -> None:
    """Ask each measure about a model without any knowledge: bad options show before hours of fits."""
    size = held_out.vocab_size
    even = SimpleNamespace(
        topic_word_=np.full((2, size), 1 / size), vocabulary_=held_out.vocabulary, alpha_=np.ones(2), topic_mass_=[1, 1]
    )
    even.transform = lambda X: np.full((X.n_documents, 2), 0.5)
    shortest = int(np.flatnonzero(held_out.lengths >= 2)[held_out.lengths[held_out.lengths >= 2].argmin()])
    some = held_out[[shortest]]
    common = np.argsort(-np.bincount(reference.words, minlength=reference.vocab_size), kind="stable")[:2]
    words = [[reference.vocabulary[v] for v in common]]
    for measure in asked:
        options = {key: value for key, value in measure.options.items() if key != "n_documents"}
        try:
            if measure.method in HELD_OUT:
                getattr(heldout, measure.method)(even, some, **options)
            elif measure.method in COHERENCE:
                getattr(coherence, measure.method)(words, reference, **options)
            elif measure.method != "stability":
                getattr(coherence, measure.method)(even, **options)
        except (ValueError, TypeError) as error:
            raise type(error)(f"measures[{measure.name!r}] cannot be asked: {error}") from error


def _plain(name: str, value: Any) -> Any:
    """`value` as JSON that is equal for equal values; arrays by their sha256."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        array = np.ascontiguousarray(value)
        return ["array", str(array.dtype), list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]
    if isinstance(value, Corpus):
        return ["corpus", digest(value)]
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, BaseEstimator):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return [kind, _plain(name, value.get_params(deep=False))]
    raise TypeError(
        f"{name} is a {type(value).__name__}, by which a fit cannot be known again: give numbers, strings, arrays or "
        "estimators."
    )


# -------------------------------------------------------------------------------------------------- fit and measure


def _compile(model: BaseEstimator, train: Corpus) -> None:
    """Fit two documents, so that what is compiled at first use does not count as time of the fit."""
    few = train[np.argsort(-train.lengths, kind="stable")[:2]]
    small = clone(model)
    if "n_topics" in small.get_params(deep=False):
        small.set_params(n_topics=2)
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small.fit(few)


def _measured(
    fit: _Fit, train: Corpus, held_out: Corpus, reference: Corpus, asked: list[_Measure]
) -> tuple[dict[str, Any], NDArray[np.float32] | None]:
    """What stands in the file of one fit, and its topics."""
    record: dict[str, Any] = {"n_topics": fit.n_topics, "seconds": None, "cpu_seconds": None}
    record |= {"values": {}, "errors": [], "notes": []}
    model, begin, cpu_begin = clone(fit.model), time.perf_counter(), time.process_time()
    try:
        model.fit(train)
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
        topics = distributions("topic_word_", model.topic_word_)
        if tuple(model.vocabulary_) != train.vocabulary or topics.shape[1] != train.vocab_size:
            raise ValueError("topic_word_ and vocabulary_ are not of the words of corpus.")
    except Exception as error:
        record["errors"].append(f"fit: {_said(error)}")
        return record, None
    record |= {"n_topics": len(topics), "seconds": round(seconds, 6), "cpu_seconds": round(cpu_seconds, 6)}
    for measure in asked:
        try:
            values, note = _measure(measure, model, held_out, reference)
        except Exception as error:
            record["errors"].append(f"{measure.column}: {_said(error)}")
            continue
        record["values"] |= {name: _json_number(value) for name, value in values.items()}
        if note:
            record["notes"].append(f"{measure.column}: {note}")
    return record, topics.astype(np.float32)


def _measure(measure: _Measure, model: Any, held_out: Corpus, reference: Corpus) -> tuple[dict[str, float], str | None]:
    """The columns of one measure, or a note why this model has none."""
    column, method, options = measure.column, measure.method, dict(measure.options)
    if method == "stability":
        return {}, None
    if method in HELD_OUT:
        n_documents = options.pop("n_documents", None)
        without_prior = options.get("alpha") is None and getattr(model, "alpha_", None) is None
        own = isinstance(model, TopicModel) and options.get("fold_in") is None  # by its transform
        by_theta = method in ("completion", "plug_in") and (own or options.get("fold_in") == "em")
        if without_prior and not by_theta:
            return {}, f"{type(model).__name__} has no prior of documents, which this needs"
        if n_documents is not None and n_documents < held_out.n_documents:
            held_out = held_out[np.linspace(0, held_out.n_documents - 1, n_documents).round().astype(int)]
        found = getattr(heldout, method)(model, held_out, **options)
        values = {column: found.perplexity, f"{column}_error": found.perplexity_error}
        if found.monte_carlo_error is not None:
            spread = math.sqrt(math.fsum(np.square(found.monte_carlo_error))) / int(found.n_tokens.sum())
            values[f"{column}_monte_carlo"] = found.perplexity * spread
        return values | {f"{column}_impossible": found.impossible}, None
    if method in COHERENCE:
        found = getattr(coherence, method)(model, reference, **options)
        n, notes = len(found.values), []
        error = float(np.std(found.values, ddof=1)) / math.sqrt(n) if n > 1 else None
        if found.unseen:
            notes.append(f"top words unseen in the reference corpus: {len(found.unseen)}")
        if n < 2:
            notes.append("no error over topics, there is a single topic")
        return {column: found.mean, f"{column}_error": error}, ", ".join(notes)
    if method == "topics_holding" and not hasattr(model, "topic_mass_"):
        return {}, f"{type(model).__name__} has no topic_mass_, which this needs"
    if method == "redundancy" and len(model.topic_word_) < 2:
        return {}, "there is a single topic"
    value = getattr(coherence, method)(model, **options)
    return {column: int(value) if method == "topics_holding" else float(np.mean(value))}, None


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _json_number(value: float | None) -> float | int | str | None:
    """JSON has neither infinities nor NaN."""
    if value is None or isinstance(value, Integral):
        return None if value is None else int(value)
    return float(value) if math.isfinite(value) else None if math.isnan(value) else str(float(value))


# -------------------------------------------------------------------------------------------------------- the table


def _row(fit: _Fit, record: dict[str, Any]) -> dict[str, Any]:
    row = {"model": fit.name, "n_topics": record["n_topics"], "random_state": fit.seed}
    row |= {name: record[name] for name in ("seconds", "cpu_seconds")}
    return row | record["values"] | {"error": "; ".join(record["errors"]), "note": "; ".join(record["notes"])}


def _add_stability(name: str, rows: list[dict[str, Any]], plan: list[_Fit], store: "_Store") -> None:
    """Match the topics of the seeds of each model and number of topics."""
    groups: dict[tuple, list[int]] = {}
    for i, (row, fit) in enumerate(zip(rows, plan, strict=True)):
        if row["seconds"] is not None:
            groups.setdefault((fit.name, fit.n_topics), []).append(i)
    for group in groups.values():
        if len(group) < 2:
            note = f"{name}: there is no fit with another seed"
            rows[group[0]]["note"] = "; ".join(filter(None, [rows[group[0]]["note"], note]))
            continue
        topics = [store.topics(plan[i].key).astype(np.float64) for i in group]
        alike = stability([phi / phi.sum(axis=1, keepdims=True) for phi in topics]).runs
        for i, row in zip(group, alike, strict=True):
            rows[i][name] = float((row.sum() - 1) / (len(group) - 1))
            rows[i][f"{name}_runs"] = len(group) - 1


def _columns(asked: list[_Measure], rows: list[dict[str, Any]]) -> list[str]:
    """All columns in their order, also those that no row has a value of."""
    found = dict.fromkeys(["model", "n_topics", "random_state", "seconds", "cpu_seconds"])
    for measure in asked:
        found[measure.column] = None
        if measure.method in HELD_OUT + COHERENCE:
            found[f"{measure.column}_error"] = None
        if any(f"{measure.column}_monte_carlo" in row for row in rows):
            found[f"{measure.column}_monte_carlo"] = None
        if measure.method in HELD_OUT:
            found[f"{measure.column}_impossible"] = None
        if measure.method == "stability":
            found[f"{measure.column}_runs"] = None
    return [*found, "error", "note"]


# ---------------------------------------------------------------------------------------------------------- the file


class _Store:
    """Finished fits: in memory, and in a file of JSON lines if there is a path; their topics in a folder beside it."""

    def __init__(self, path: str | os.PathLike | None, keeps_topics: bool) -> None:
        self.path = None if path is None else Path(path)
        self.keeps_topics = keeps_topics
        self.records: dict[str, dict[str, Any]] = {}
        self._topics: dict[str, NDArray[np.float32]] = {}
        if self.path is None:
            return
        self.folder = self.path.with_name(f"{self.path.name}.topics")
        if not self.path.parent.is_dir():
            raise ValueError(f"path is {self.path}: there is no folder {self.path.parent}. Make it first.")
        if self.path.exists():
            self.records = _read(self.path)
        else:
            self._write()  # a folder that must not be written to shows before hours of fits

    def has(self, key: str) -> bool:
        """Is this fit finished, and did it not fail?"""
        record = self.records.get(key)
        if record is None or record["seconds"] is None:
            return False
        return not self.keeps_topics or key in self._topics or (self.path is not None and self._file(key).exists())

    def add(self, key: str, record: dict[str, Any], topics: NDArray[np.float32] | None) -> None:
        """Keep a finished fit: first its topics, then its record, each whole or not at all."""
        if self.keeps_topics and topics is not None:
            if self.path is None:
                self._topics[key] = topics
            else:
                self.folder.mkdir(exist_ok=True)
                with draft(self._file(key)) as file:
                    np.savez_compressed(file, topics=topics)
        if self.path is not None and self.path.exists():
            self.records |= _read(self.path)  # what another process has added
        self.records[key] = record
        if self.path is not None:
            self._write()

    def topics(self, key: str) -> NDArray[np.float32]:
        if key in self._topics:
            return self._topics[key]
        try:
            with np.load(self._file(key), allow_pickle=False) as stored:
                return stored["topics"]
        except Exception as error:  # a damaged file lets zipfile, zlib and NumPy raise almost anything
            raise ValueError(
                f"{self._file(key)} is damaged ({_said(error)}): delete it, and the same call fits its model anew."
            ) from error

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.npz"

    def _write(self) -> None:
        lines = [{"bnptopics": "comparison", "format": FORMAT}]
        lines += [{"key": key} | record for key, record in self.records.items()]
        with draft(self.path) as file:
            file.write("".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines).encode())


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The records of a file of `compare`, by their keys."""
    if path.is_dir():
        raise ValueError(f"path is {path}, which is a folder: give the path of a file.")
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        header = json.loads(first)
        written = header["format"] if header["bnptopics"] == "comparison" else None
    except (ValueError, KeyError, TypeError):
        written = None
    if written is None:
        raise ValueError(f"{path} is no file of compare, and is left as it is: give the path of a new file.")
    if written != FORMAT:
        raise ValueError(f"{path} has format {written}, and this version of bnptopics reads {FORMAT}: give a new path.")
    records = {}
    for number, line in enumerate(lines, 2):
        try:
            record = json.loads(line)
            key = record.pop("key")
            parts = {"n_topics": int | None, "seconds": float | None, "cpu_seconds": float | None}
            parts |= {"values": dict, "errors": list, "notes": list}
            if not isinstance(key, str) or record.keys() != parts.keys():
                raise ValueError("it is no record")
            if wrong := [name for name, kind in parts.items() if not isinstance(record[name], kind)]:
                raise ValueError(f"{wrong[0]} is {record[wrong[0]]!r}")
            numbers = [value for value in record["values"].values() if value not in (None, "inf", "-inf")]
            texts = record["errors"] + record["notes"]
            if not all(isinstance(n, int | float) for n in numbers) or not all(isinstance(t, str) for t in texts):
                raise ValueError("it has what is no number, or no text")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is damaged in line {number} ({error}): delete that line, and its fit is made anew."
            ) from error
        records[key] = record
    return records
