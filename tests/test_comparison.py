"""`compare`: what each row holds, what a file remembers, and what becomes of Ctrl-C, failures and bad input."""

import itertools
import json
import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

from bnptopics import KLNMF, Corpus, GibbsLDA, coherence, compare, comparison, heldout, match_topics, stability
from bnptopics.comparison import summary
from bnptopics.models import lda

FITS: list[tuple[Any, ...]] = []  # of `Plain`, those with more than two documents


class Plain(BaseEstimator):
    """Topics drawn at once from the seed and the words of the documents: a model as quick as can be."""

    def __init__(self, n_topics=2, random_state=None, alpha=0.5, weights=None, verbose=None):
        self.n_topics = n_topics
        self.random_state = random_state
        self.alpha = alpha
        self.weights = weights
        self.verbose = verbose

    def fit(self, X):
        if X.n_documents > 2:
            FITS.append((type(self).__name__, self.n_topics, self.random_state))
        counts = np.bincount(X.words, minlength=X.vocab_size) + 1.0
        topics = np.random.default_rng(self.random_state).gamma(1, 1, (self.n_topics, X.vocab_size)) * counts
        self.topic_word_ = topics / topics.sum(axis=1, keepdims=True)
        self.topic_mass_ = np.arange(1.0, self.n_topics + 1)
        self.alpha_ = np.full(self.n_topics, self.alpha)
        self.vocabulary_ = X.vocabulary
        return self


class Other(Plain):
    pass


class Failing(Plain):
    """Fails with seed 1 as long as `broken`, and has no probability of documents with seed 2."""

    broken = True

    def fit(self, X):
        super().fit(X)
        if X.n_documents > 2 and self.random_state == 1 and self.broken:
            raise MemoryError("no room")
        if self.random_state == 2:
            self.alpha_[0] = -1
        return self


class Interrupted(Plain):
    """Ctrl-C is pressed in the middle of the fit with the seed `pressed`."""

    pressed: int | None = None

    def fit(self, X):
        if X.n_documents > 2 and self.random_state == self.pressed:
            signal.raise_signal(signal.SIGINT)
        return super().fit(X)


class Fixed(BaseEstimator):
    """Takes neither a number of topics nor a seed; has no prior of documents, and a single topic."""

    def fit(self, X):
        self.topic_word_ = np.full((1, X.vocab_size), 1 / X.vocab_size)
        self.vocabulary_ = X.vocabulary
        return self


def simulated(seed: int, n_documents: int = 30) -> Corpus:
    rng = np.random.default_rng(seed)
    lengths = [0, 1, *rng.integers(4, 12, n_documents - 2)]
    sample = lda.simulate(rng, lengths, np.full(3, 0.2), np.full(12, 0.3))
    return Corpus(sample.words, sample.doc_start, [f"w{v}" for v in range(12)])


CORPUS = simulated(0)
FEW: dict[str, Any] = {"n_topics": (2, 3), "random_states": (0, 1, 2), "measures": ("completion", "diversity")}


@pytest.fixture(autouse=True)
def _no_fits_yet() -> Iterator[None]:
    FITS.clear()
    yield
    Failing.broken, Interrupted.pressed = True, None


def same(first: pd.DataFrame, second: pd.DataFrame, seconds: bool = False) -> None:
    """Equal tables, to the last bit; the clock may have gone another way."""
    leave_out = [] if seconds else ["seconds", "cpu_seconds"]
    pd.testing.assert_frame_equal(first.drop(columns=leave_out), second.drop(columns=leave_out), check_exact=True)


# ------------------------------------------------------------------------------------------------------ what is there


def test_rows_are_fits_measured_by_hand():
    models = {"sampled": GibbsLDA(n_sweeps=8, burn_in=4, thin=2), "factors": KLNMF(max_iter=5)}
    before = {name: model.get_params() for name, model in models.items()}
    measures = {name: {} for name in comparison.DEFAULT} | {"bound": {}}
    measures["npmi"] = {"n_top": 3, "window": 4}
    table = compare(models, CORPUS, n_topics=(3, 2), random_states=(4, 1), measures=measures)
    train, test = CORPUS.split(0.2, 0)
    assert list(table["model"]) == ["sampled"] * 4 + ["factors"] * 4
    assert list(table["n_topics"]) == [3, 3, 2, 2] * 2 and list(table["random_state"]) == [4, 1] * 4
    fits = [
        clone(model).set_params(n_topics=k, random_state=seed).fit(train)
        for model in models.values()
        for k, seed in itertools.product((3, 2), (4, 1))
    ]
    for i, fit in enumerate(fits):
        row = table.iloc[i]
        completed = heldout.completion(fit, test)
        assert row["perplexity_completion"] == completed.perplexity == fit.perplexity(test)
        assert row["perplexity_completion_error"] == completed.perplexity_error
        assert row["perplexity_completion_impossible"] == completed.impossible
        met = coherence.npmi(fit, train, n_top=3, window=4)
        assert row["npmi"] == met.mean
        assert row["npmi_error"] == pytest.approx(met.values.std(ddof=1) / math.sqrt(len(met.values)), rel=1e-12)
        assert row["diversity"] == coherence.diversity(fit)
        assert row["redundancy"] == coherence.redundancy(fit).mean()
        assert row["topics_holding"] == coherence.topics_holding(fit)
        other = fits[i ^ 1]
        assert row["stability"] == pytest.approx(stability([fit, other]).overall, rel=0, abs=1e-6)
        assert row["stability_runs"] == 1
        assert row["seconds"] > 0 and row["cpu_seconds"] > 0 and row["error"] == ""
        if i < 4:
            assert row["perplexity_bound"] == heldout.bound(fit, test).perplexity and row["note"] == ""
        else:
            assert math.isnan(row["perplexity_bound"])
            assert row["note"] == "perplexity_bound: KLNMF has no prior of documents, which this needs"
    assert {name: model.get_params() for name, model in models.items()} == before
    assert not [name for model in models.values() for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("method", comparison.HELD_OUT + comparison.COHERENCE)
def test_each_measure_with_an_option_and_under_another_name(method: str):
    """What stands in the table is what the function of that name says, given the same options."""
    options: dict[str, Any] = {"alpha": 0.3} if method in comparison.HELD_OUT else {"n_top": 3, "window": None}
    if method == "importance_sampling":
        options["n_samples"] = 7
    measures = {"mine": {"method": method} | options, method: {"n_documents": 4} if "alpha" in options else {}}
    short = Corpus(CORPUS.words, np.append(np.arange(0, CORPUS.n_tokens, 5), CORPUS.n_tokens), CORPUS.vocabulary)
    table = compare(Plain(), short, n_topics=3, random_states=5, measures=measures)
    train, test = short.split(0.2, 0)
    fit = Plain(3, 5).fit(train)
    if method in comparison.COHERENCE:
        assert table["mine"][0] == getattr(coherence, method)(fit, train, **options).mean
        return
    whole = getattr(heldout, method)(fit, test, **options)
    last = test.n_documents - 1
    assert last % 3
    few = getattr(heldout, method)(fit, test[[round(i * last / 3) for i in range(4)]])
    for name, found in (("mine", whole), (method, few)):
        assert table[f"perplexity_{name}"][0] == found.perplexity
        assert table[f"perplexity_{name}_error"][0] == found.perplexity_error
        assert (f"perplexity_{name}_monte_carlo" in table) == (found.monte_carlo_error is not None)
        if found.monte_carlo_error is not None:
            spread = math.sqrt(np.square(found.monte_carlo_error).sum()) / found.n_tokens.sum()
            at = table[f"perplexity_{name}_monte_carlo"][0]
            assert at == pytest.approx(found.perplexity * spread, rel=1e-12)


def test_stability_is_that_of_each_run_with_the_others():
    table = compare(Plain(), CORPUS, n_topics=3, random_states=(0, 1, 2), measures=["stability"])
    train, _ = CORPUS.split(0.2, 0)
    runs = [Plain(3, seed).fit(train).topic_word_ for seed in range(3)]
    for i, j, k in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        alike = np.mean([match_topics(runs[i], runs[other]).similarity.mean() for other in (j, k)])
        assert table["stability"][i] == pytest.approx(alike, rel=0, abs=1e-6)
    assert table["stability"].mean() == pytest.approx(stability(runs).overall, rel=0, abs=1e-6)
    alone = compare(Plain(), CORPUS, n_topics=3, random_states=0, measures=["stability"])
    assert math.isnan(alone["stability"][0]) and alone["note"][0] == "stability: there is no fit with another seed"


def test_models_that_take_no_number_of_topics_and_no_seed():
    measures = ("completion", "bound", "npmi", "redundancy", "topics_holding", "stability")
    table = compare([Fixed(), Plain(4)], CORPUS, n_topics=None, random_states=(3, 5), measures=measures)
    assert table[["model", "n_topics"]].values.tolist() == [["Fixed", 1], ["Plain", 4], ["Plain", 4]]
    assert table["random_state"].isna().tolist() == [True, False, False]
    missing = table.columns[table.iloc[0].isna()]
    noted = dict(part.split(": ", 1) for part in table["note"][0].split("; "))
    assert noted.keys() == {f"perplexity_{name}" if name in comparison.HELD_OUT else name for name in measures}
    assert noted["npmi"].endswith("no error over topics, there is a single topic")
    assert table["error"].tolist() == ["", "", ""]
    assert all(name in ("random_state",) or any(name.startswith(part) for part in noted) for name in missing)
    assert len(compare(Fixed(), CORPUS, n_topics=(2, 3), random_states=(0, 1), measures=["diversity"])) == 1


def test_documents_may_come_split_and_as_counts():
    train, test = CORPUS.split(0.2, 0)
    table = compare(Plain(), CORPUS, **FEW)
    same(compare(Plain(), train, **FEW, test=test), table)
    same(compare(Plain(), CORPUS.counts, **FEW), table)
    same(compare(Plain(), CORPUS, **FEW, test=6), table)
    other = compare(Plain(), CORPUS, **FEW, test_seed=1)
    assert not np.array_equal(other["perplexity_completion"], table["perplexity_completion"])


def test_coherence_counts_in_the_reference_corpus():
    table = compare(Plain(), CORPUS, n_topics=2, random_states=0, measures=["npmi"], reference=simulated(7))
    fit = Plain(2, 0).fit(CORPUS.split(0.2, 0)[0])
    assert table["npmi"][0] == coherence.npmi(fit, simulated(7), unseen="skip").mean
    assert table["npmi"][0] != coherence.npmi(fit, CORPUS.split(0.2, 0)[0], unseen="skip").mean


def test_infinite_values_come_through(tmp_path: Path):
    """A word in no topic is impossible, here and in the file."""

    class Sure(Plain):
        def fit(self, X):
            super().fit(X)
            self.topic_word_[:, 3] = 0
            self.topic_word_ /= self.topic_word_.sum(axis=1, keepdims=True)
            return self

    path = tmp_path / "fits"
    tables = [compare(Sure(), CORPUS, **FEW, path=path) for _ in range(2)]
    same(*tables, seconds=True)
    assert np.isposinf(tables[0]["perplexity_completion"]).all()
    assert (tables[0]["perplexity_completion_impossible"] > 0).all()
    for line in path.read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


# ------------------------------------------------------------------------------------------------- what is remembered


def test_a_second_call_goes_on_where_the_first_stopped(tmp_path: Path):
    measures = ("completion", "npmi", "stability")
    settings = {"measures": measures, "path": tmp_path / "fits"}
    small = compare(Plain(), CORPUS, n_topics=(2, 3), random_states=(0, 1), **settings)
    assert len(FITS) == 4
    same(compare(Plain(), CORPUS, n_topics=(2, 3), random_states=(0, 1), **settings), small, seconds=True)
    assert len(FITS) == 4
    models = {"again": Plain(verbose=True), "other": Other()}
    large = compare(models, CORPUS, n_topics=(4, 3, 2), random_states=(2, 1, 0), **settings)
    assert len(FITS) == 4 + 18 - 4  # the name and the progress bar play no part
    at_once = compare(models, CORPUS, n_topics=(4, 3, 2), random_states=(2, 1, 0), measures=measures)
    same(large, at_once)
    turned = compare({"other": Other(), "again": Plain()}, CORPUS, n_topics=2, random_states=(0, 1, 2), **settings)
    part = large[large["n_topics"] == 2].sort_values(["model", "random_state"], ascending=[False, True])
    same(turned, part.reset_index(drop=True), seconds=True)
    assert len(FITS) == 18 + 18  # all of it was there but what went without a file


SORTED = Corpus(CORPUS.bags().words, CORPUS.doc_start, CORPUS.vocabulary)  # texts with their words in order
CHANGED: dict[str, dict[str, Any]] = {
    "parameter": {"models": {"a": Plain(alpha=0.25)}},
    "array": {"models": {"a": Plain(weights=np.array([1.0, 2.0]))}},
    "nested": {"models": {"a": Plain(weights=[Plain(3), {"x": (1, None)}])}},
    "class": {"models": {"a": Other()}},
    "topics": {"n_topics": 3},
    "seed": {"random_states": 1},
    "corpus": {"corpus": simulated(1)},
    "order": {"corpus": SORTED.bags()},
    "split": {"test_seed": 1},
    "test": {"test": 0.3},
    "measures": {"measures": ("completion", "npmi")},
    "options": {"measures": {"completion": {"fold_in": "em"}}},
    "reference": {"reference": simulated(2)},
}


@pytest.mark.parametrize("case", [*CHANGED, "version"])
def test_what_was_fitted_or_measured_otherwise_is_done_anew(case: str, tmp_path: Path, monkeypatch):
    given = {"models": {"a": Plain()}, "corpus": SORTED, "n_topics": 2, "random_states": 0, "measures": ["completion"]}
    given["path"] = tmp_path / "fits"
    other = given | CHANGED.get(case, {})
    compare(**given)
    assert len(FITS) == 1
    if case == "version":
        monkeypatch.setattr(comparison, "version", lambda name: "0.0")
    found = compare(**other)
    assert len(FITS) == 2
    renamed = compare(**(other | {"models": {"b": other["models"]["a"]}}))
    same(renamed.assign(model="a"), found, seconds=True)
    monkeypatch.undo()
    compare(**given)
    assert len(FITS) == 2  # both are there


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, default_handler):
    at_once = compare(Interrupted(), CORPUS, **FEW)
    FITS.clear()
    Interrupted.pressed = 2
    for done in (2, 2):  # of two topics, seeds 0 and 1; pressed again, nothing is lost and nothing gained
        with pytest.raises(KeyboardInterrupt) as stopped:
            compare(Interrupted(), CORPUS, **FEW, path=tmp_path / "fits")
        assert len((tmp_path / "fits").read_text(encoding="utf-8").splitlines()) == 1 + done
        assert str(tmp_path / "fits") in stopped.value.__notes__[0]
    assert len(FITS) == 2
    Interrupted.pressed = None
    same(compare(Interrupted(), CORPUS, **FEW, path=tmp_path / "fits"), at_once)
    assert len(FITS) == 6
    Interrupted.pressed = 1
    with pytest.raises(KeyboardInterrupt) as stopped:
        compare(Interrupted(), CORPUS, **FEW)
    assert "1 of 6 fits were finished; without a path they are lost" in stopped.value.__notes__[0]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch):
    path = tmp_path / "fits"
    compare(Plain(), CORPUS, n_topics=2, random_states=0, measures=["stability"], path=path)
    before = path.read_bytes()
    replace = os.replace

    def pressed(source: Path, target: Path) -> None:
        if Path(target) == path:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", pressed)
    with pytest.raises(KeyboardInterrupt):
        compare(Plain(), CORPUS, n_topics=2, random_states=(0, 1), measures=["stability"], path=path)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fits", "fits.topics"]
    monkeypatch.undo()
    table = compare(Plain(), CORPUS, n_topics=2, random_states=(0, 1), measures=["stability"], path=path)
    assert len(FITS) == 3 and table["stability"].notna().all()


def test_processes_that_share_a_file_keep_what_the_others_write(tmp_path: Path):
    path = tmp_path / "fits"

    class Shared(Plain):
        """While it is fitted, another process is at work."""

        def fit(self, X):
            if X.n_documents > 2 and self.random_state == 1:
                compare(Other(), CORPUS, **FEW, path=path)
            return super().fit(X)

    table = compare(Shared(), CORPUS, **FEW | {"n_topics": 2}, path=path)
    assert len(FITS) == 3 + 6
    same(compare(Shared(), CORPUS, **FEW | {"n_topics": 2}, path=path), table, seconds=True)
    compare(Other(), CORPUS, **FEW, path=path)
    assert len(FITS) == 3 + 6  # both are there


def test_topics_that_are_gone_are_fitted_anew_and_damage_is_told(tmp_path: Path):
    settings = {"n_topics": 2, "random_states": (0, 1), "measures": ["stability"], "path": tmp_path / "fits"}
    table = compare(Plain(), CORPUS, **settings)
    kept = sorted((tmp_path / "fits.topics").iterdir())
    assert len(kept) == 2
    kept[0].unlink()
    same(compare(Plain(), CORPUS, **settings), table)
    assert len(FITS) == 3
    kept[1].write_bytes(kept[1].read_bytes()[:-40])
    with pytest.raises(ValueError, match=rf"{kept[1].name} is damaged .*: delete it, and the same call fits its model"):
        compare(Plain(), CORPUS, **settings)
    kept[1].unlink()
    same(compare(Plain(), CORPUS, **settings), table)


@pytest.mark.parametrize("measures", [("completion", "diversity"), ("completion", "stability")])
def test_a_fit_that_fails_is_a_row_and_is_tried_again(measures, tmp_path: Path):
    settings = FEW | {"n_topics": 2, "path": tmp_path / "fits", "measures": measures}
    table = compare({"good": Plain(), "bad": Failing()}, CORPUS, **settings)
    assert table["error"].tolist()[:4] == ["", "", "", ""]
    assert table["error"][4] == "fit: MemoryError: no room"
    failed = table.iloc[4].drop(["model", "n_topics", "random_state", "error", "note"])
    assert failed.isna().all() and table["n_topics"][4] == 2 and table["random_state"][4] == 1
    assert table["error"][5].startswith("perplexity_completion: ValueError: alpha")
    assert table[measures[1]].notna().tolist() == [True] * 4 + [False, True]
    assert table["seconds"].notna().tolist() == [True] * 4 + [False, True]
    assert len(FITS) == 6
    Failing.broken = False
    mended = compare({"good": Plain(), "bad": Failing()}, CORPUS, **settings)
    assert len(FITS) == 7  # a measure that fails would fail again
    assert mended["error"][4] == "" and mended["perplexity_completion"].notna()[4]
    same(mended.iloc[:3], table.iloc[:3], seconds=True)


SPOILT = {
    "without topics": (lambda model: delattr(model, "topic_word_"), "AttributeError: .*topic_word_"),
    "no numbers": (lambda model: model.topic_word_.__setitem__((0, 0), np.nan), "ValueError: row 0 of topic_word_ is"),
    "no distribution": (lambda model: model.topic_word_.__setitem__((1, 0), 2), "ValueError: row 1 of topic_word_ is"),
    "one topic": (lambda model: setattr(model, "topic_word_", model.topic_word_[0]), r"topic_word_ has shape \(12,\)"),
    "other words": (lambda model: setattr(model, "vocabulary_", "abcdefghijkl"), "are not of the words of corpus"),
    "fewer words": (lambda model: setattr(model, "topic_word_", np.full((2, 4), 0.25)), "are not of the words of"),
}


@pytest.mark.parametrize("case", SPOILT)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_what_has_no_topics_of_these_words_after_the_fit_has_failed(case: str, in_a_file: bool, tmp_path: Path):
    spoil, message = SPOILT[case]

    class Spoilt(Plain):
        def fit(self, X):
            super().fit(X)
            if self.random_state == 1:
                spoil(self)
            return self

    settings = {"n_topics": 2, "random_states": (0, 1, 2), "path": tmp_path / "fits" if in_a_file else None}
    for n_fits in (6, 7):  # it is tried again
        table = compare([Plain(), Spoilt()], CORPUS, **settings)
        assert len(FITS) == n_fits or not in_a_file
        assert re.fullmatch(f"fit: .*{message}.*", table["error"][4])
        failed = table.iloc[4].drop(["model", "n_topics", "random_state", "error", "note"])
        assert failed.isna().all() and table["n_topics"][4] == 2
        assert table["stability_runs"].tolist() == [2, 2, 2, 1, pd.NA, 1]
        assert table["error"].tolist()[:4] == [""] * 4 and table["error"][5] == ""


HEAD = '{"bnptopics": "comparison", "format": 1}\n'
GOOD = {"key": "k", "n_topics": 2, "seconds": 0.5, "cpu_seconds": 0.4, "values": {"diversity": 1.0}}
GOOD |= {"errors": [], "notes": []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no file of compare, and is left as it is"),
        (b"\x89PNG\r\n", "is no file of compare"),
        (b"model,n_topics\n", "is no file of compare"),
        (b"[1, 2]\n", "is no file of compare"),
        (b'{"key": "k"}\n', "is no file of compare"),
        (b'{"bnptopics": "comparison", "format": 99}\n', "has format 99, and this version of bnptopics reads 1"),
        (f"{HEAD}{json.dumps(GOOD)[:-9]}".encode(), "is damaged in line 2"),
        (f"{HEAD}{json.dumps(GOOD)}\n17\n".encode(), "is damaged in line 3"),
        (f"{HEAD}{json.dumps(GOOD | {'key': 5})}\n".encode(), "is damaged in line 2 .it is no record"),
        (f"{HEAD}{json.dumps(GOOD | {'more': 5})}\n".encode(), "is damaged in line 2 .it is no record"),
        (f"{HEAD}{json.dumps(GOOD | {'seconds': 'long'})}\n".encode(), "line 2 .seconds is 'long'"),
        (f"{HEAD}{json.dumps(GOOD | {'values': {'diversity': 'x'}})}\n".encode(), "line 2 .it has what is no number"),
        (f"{HEAD}{json.dumps(GOOD | {'errors': [1]})}\n".encode(), "line 2 .it has what is no number, or no text"),
    ],
)
def test_files_that_are_damaged_or_foreign(content: bytes, message: str, tmp_path: Path):
    path = tmp_path / "fits"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        compare(Plain(), CORPUS, **FEW, path=path)
    assert path.read_bytes() == content and not FITS


# ----------------------------------------------------------------------------------------------------------- bad input

BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"models": {}}, ValueError, "models is empty"),
    ({"models": "GibbsLDA"}, TypeError, "models is 'GibbsLDA': give a mapping"),
    ({"models": {"a": Plain}}, TypeError, r"models\['a'\] is <class .*give an estimator"),
    ({"models": {1: Plain()}}, TypeError, "models has the name 1"),
    ({"models": [Plain(), Plain(3)]}, ValueError, "models has Plain more than once: give a mapping"),
    ({"models": {"a": Plain(weights=object())}}, TypeError, r"models\['a'\].weights is a object, by which a fit"),
    ({"corpus": [[0.5]]}, ValueError, "counts are whole numbers"),
    ({"n_topics": ()}, ValueError, "n_topics is empty"),
    ({"n_topics": (2, 2)}, ValueError, r"n_topics is \[2, 2\]: each number is given once"),
    ({"n_topics": 0}, ValueError, "n_topics is 0: it must be a whole number from 1"),
    ({"n_topics": 2.0}, ValueError, "n_topics is 2.0: it must be a whole number from 1"),
    ({"random_states": None}, ValueError, "random_states is None: it must be a whole number from 0"),
    ({"random_states": (0, -1)}, ValueError, "random_states is -1: it must be a whole number from 0"),
    ({"random_states": np.random.default_rng(0)}, ValueError, "random_states is Generator"),
    ({"test": 1.5}, ValueError, "test is 1.5: give a share between 0.0 and 1.0"),
    ({"test": simulated(0).prune(min_df=9)}, ValueError, "test has another vocabulary than corpus"),
    ({"test": CORPUS[:2]}, ValueError, "test has no document of two tokens"),
    ({"test_seed": -1}, ValueError, "test_seed is -1"),
    ({"corpus": CORPUS[[0, 0]], "test": CORPUS[:5]}, ValueError, "corpus leaves no token to be fitted"),
    ({"measures": "perplexity"}, ValueError, "measures is 'perplexity': there are completion, bound"),
    ({"measures": {"a": {"method": "b"}}}, ValueError, "method is 'b': there are completion"),
    ({"measures": {"npmi": {"width": 3}}}, TypeError, r"measures\['npmi'\] has the option 'width': npmi has \['eps"),
    ({"measures": {"stability": {"share": 3}}}, TypeError, r"has the option 'share': stability has \[\]"),
    ({"measures": {"npmi": 3}}, TypeError, "measures has 'npmi': 3"),
    ({"measures": [3]}, TypeError, "measures has 3: None"),
    ({"measures": 3}, TypeError, "measures is 3: give names"),
    ({"measures": {"npmi": {"window": 1}}}, ValueError, r"measures\['npmi'\] cannot be asked: window is 1"),
    ({"measures": ["completion"] * 2}, ValueError, "two columns 'perplexity_completion'"),
    ({"measures": {"seconds": {"method": "npmi"}}}, ValueError, "two columns 'seconds'"),
    ({"measures": {"topics_holding": {"method": "npmi"}}}, ValueError, "has npmi under the name 'topics_holding'"),
    ({"measures": {"my_error": {"method": "npmi"}}}, ValueError, "has the name 'my_error': names that end with"),
    ({"measures": {"npmi": {"n_documents": 3}}}, ValueError, "n_documents, which is an option of held-out"),
    ({"measures": {"bound": {"n_documents": 0}}}, ValueError, "n_documents is 0"),
    ({"measures": {"completion": {"fold_in": "magic"}}}, ValueError, "cannot be asked: fold_in is 'magic'"),
    ({"measures": {"topics_holding": {"share": 2}}}, ValueError, "cannot be asked: share is 2"),
    ({"measures": ["npmi"], "corpus": CORPUS.bags()}, ValueError, "cannot be asked: window is 10.*window=None"),
    ({"reference": [["a", "b"]]}, TypeError, "reference is a list: give a Corpus"),
]


@pytest.mark.parametrize(("given", "error", "message"), BAD)
def test_bad_input_is_refused_before_anything_is_fitted(given, error, message, tmp_path: Path):
    with pytest.raises(error, match=message):
        compare(**({"models": {"a": Plain()}, "corpus": CORPUS, "path": tmp_path / "fits"} | FEW | given))
    assert not FITS and not [*tmp_path.iterdir()]


def test_places_where_no_file_can_be(tmp_path: Path, monkeypatch):
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere\. Make it first"):
        compare(Plain(), CORPUS, **FEW, path=tmp_path / "nowhere" / "fits")
    with pytest.raises(ValueError, match="which is a folder: give the path of a file"):
        compare(Plain(), CORPUS, **FEW, path=tmp_path)

    def refused(source: Path, target: Path) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(PermissionError, match="read only"):
        compare(Plain(), CORPUS, **FEW, path=tmp_path / "fits")
    assert not FITS and not [*tmp_path.iterdir()]


def test_the_bar_says_what_is_being_fitted(capsys, monkeypatch):
    at_once = comparison.tqdm
    monkeypatch.setattr(comparison, "tqdm", lambda *given, **options: at_once(*given, **options | {"delay": 0}))
    for verbose in (None, False):  # this is no terminal
        compare(Plain(), CORPUS, **FEW, verbose=verbose)
        assert capsys.readouterr().err == ""
    compare(Plain(), CORPUS, **FEW, verbose=True)
    assert "0/6" in (said := capsys.readouterr().err) and "Plain, 2 topics, seed 0" in said


# ------------------------------------------------------------------------------------------------------------- summary


def test_summary_by_hand():
    nan, inf = math.nan, math.inf
    table = comparison.table(
        [
            {"model": "a", "n_topics": 2, "random_state": 0, "seconds": 1.0, "npmi": 0.1, "npmi_error": 0.3, "s": 0.5},
            {"model": "a", "n_topics": 2, "random_state": 1, "seconds": 2.0, "npmi": 0.4, "npmi_error": 0.4, "s": 0.6},
            {"model": "a", "n_topics": 2, "random_state": 2, "seconds": None, "npmi": None, "npmi_error": None},
            {"model": "a", "n_topics": 3, "random_state": 0, "seconds": 4.0, "npmi": "inf", "npmi_error": "inf"},
            {"model": "b", "n_topics": 2, "random_state": 0, "seconds": 3.0, "npmi": 0.2, "npmi_error": 0.5},
        ]
    )
    assert [name for name in table if str(table[name].dtype) == "Int64"] == ["n_topics", "random_state"]
    found = summary(table)
    assert list(found.columns) == ["model", "n_topics", "measure", "mean", "n", "error", "within"]
    rows = {(r.model, r.n_topics, r.measure): (r.mean, r.n, r.error, r.within) for r in found.itertuples(index=False)}
    expected = {
        ("a", 2, "seconds"): (1.5, 2, 0.5, nan),
        ("a", 2, "npmi"): (0.25, 2, 0.15, math.sqrt(0.125)),
        ("a", 2, "s"): (0.55, 2, 0.05, nan),
        ("a", 3, "seconds"): (4.0, 1, nan, nan),
        ("a", 3, "npmi"): (inf, 1, nan, nan),
        ("a", 3, "s"): (nan, 0, nan, nan),
        ("b", 2, "seconds"): (3.0, 1, nan, nan),
        ("b", 2, "npmi"): (0.2, 1, nan, 0.5),
        ("b", 2, "s"): (nan, 0, nan, nan),
    }
    assert rows.keys() == expected.keys()
    for key, values in expected.items():
        assert rows[key] == pytest.approx(values, rel=1e-12, abs=0, nan_ok=True), key
    with pytest.raises(ValueError, match="table has no column 'random_state': give what compare has returned"):
        summary(table.drop(columns="random_state"))


def test_seeds_that_find_other_numbers_of_topics_are_one_row():
    """Also where one of them failed; while a model that was given several numbers has a row for each."""
    found = [
        {"model": "hdp", "n_topics": k, "random_state": seed, "seconds": 1.0 + seed, "npmi": value}
        for seed, (k, value) in enumerate([(50, 0.1), (55, 0.2), (None, None), (54, 0.6)])
    ]
    given = [
        {"model": "lda", "n_topics": k, "random_state": seed, "seconds": 1.0, "npmi": 0.1 * k}
        for k in (2, 3)
        for seed in (0, 1)
    ]
    rows = summary(comparison.table(found + given)).query("measure == 'npmi'")
    assert rows[["model", "n_topics", "n"]].values.tolist() == [["hdp", 53, 3], ["lda", 2, 2], ["lda", 3, 2]]
    assert rows["mean"].tolist() == pytest.approx([0.3, 0.2, 0.3])
    assert rows["error"].iloc[0] == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3))


def test_summary_has_models_that_never_were_fitted():
    class Refused(Fixed):
        def fit(self, X):
            raise ValueError("no")

    found = summary(compare([Plain(), Refused()], CORPUS, **FEW | {"n_topics": 2}))
    assert found["model"].unique().tolist() == ["Plain", "Refused"]
    never = found[found["model"] == "Refused"]
    assert never["n_topics"].isna().all() and (never["n"] == 0).all() and never["mean"].isna().all()


def test_the_error_of_stability_is_the_jackknife_over_runs():
    rng = np.random.default_rng(0)
    for n in (3, 4, 7):
        alike = rng.random((n, n))
        alike = (alike + alike.T) / 2
        pairs = {(i, j): alike[i, j] for i, j in itertools.combinations(range(n), 2)}
        without = [np.mean([v for pair, v in pairs.items() if run not in pair]) for run in range(n)]
        jackknife = math.sqrt((n - 1) / n * np.square(np.array(without) - np.mean(without)).sum())
        values = [(alike[i].sum() - alike[i, i]) / (n - 1) for i in range(n)]
        rows = [
            {"model": "a", "n_topics": 2, "random_state": i, "seconds": 1.0, "stability": v, "stability_runs": n - 1}
            for i, v in enumerate(values)
        ]
        row = summary(comparison.table(rows)).set_index("measure").loc["stability"]
        assert row["mean"] == pytest.approx(np.mean([*pairs.values()]), rel=1e-12)
        assert row["error"] == pytest.approx(jackknife, rel=1e-9)
    two = comparison.table(rows[:2])
    assert math.isnan(summary(two).set_index("measure").loc["stability", "error"])


def test_a_table_comes_back_from_its_columns():
    table = compare([Plain(), Fixed()], CORPUS, n_topics=2, random_states=(0, 1), measures=["bound", "stability"])
    columns = {
        name: [None if pd.isna(v) else "inf" if v == math.inf else v for v in table[name].tolist()] for name in table
    }
    pd.testing.assert_frame_equal(comparison.table(json.loads(json.dumps(columns))), table)
