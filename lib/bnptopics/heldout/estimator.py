"""The probability of held-out documents, for users: one signature, one definition each, all in nats.

Every function takes a model, or the topics of any other library as `Topics`, and documents that it was not fitted on,
and returns a `HeldOut`. Values of different functions must not be compared with each other: they are estimates of
different quantities (a document, or one half of it given the other), and bounds and plug-in values lie on one side.

Documents do not interact. What is found for one depends on the model and on its words alone, not on their order (but
for completion of the second half or of every other token), on other documents, on threads or on chance: samplers draw
from streams that begin at `random_state` and the document's words. So two models are compared by the same random
numbers, doubling the documents changes nothing, and the score of a union is the token-weighted mean of the scores.
"""

import copy
import hashlib
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from .. import base
from ..base import as_corpus, as_generator, halves, iterate, kernels_of, one_of, threads, tokens_where, type_form, whole
from ..corpus import Corpus
from ..lda_gibbs.estimator import fold_in as fold_in_by_gibbs
from ..lda_variational.estimator import document_bounds, normalised
from ..lda_variational.estimator import fold_in as fold_in_by_variation
from ..nmf.estimator import fold_in as fold_in_by_em
from ..topics import Topics, chains, distributions

# `exact` refuses documents that take more steps than this, about a second of one thread.
MAX_STEPS = 200_000_000
# So many documents at a time go to kernels of whole corpora: the progress bar and Ctrl-C act in between.
BATCH = 256
# So many random numbers a thread holds at a time, 16 MiB, or those of one particle where these are more.
BLOCK = 2**21
# Smaller probabilities of words in topics count as zero, and so do smaller products with the topic's share in the
# prior: kernels multiply them with priors, from 1e-100 on, and the products must not vanish.
LEAST, LEAST_PRODUCT = 1e-200, 1e-300
# Their logarithm, for kernels that want numbers: further below than what any prior could make up for.
LOG_ZERO = -1e300

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Estimate = tuple[float, float]  # a log probability, and the standard deviation of what was sampled


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """What a model makes of held-out documents. Logarithms are natural ones: the unit is the nat.

    Attributes
    ----------
    method : str
        What was estimated, and how.
    log_probability : (D,) float64
        Of the scored tokens of each document; 0 where there are none. Minus infinity for a document that the model
        holds for impossible, or that no particle could explain.
    n_tokens : (D,) int64
        Number of scored tokens of each document.
    monte_carlo_error : (D,) float64 or None
        Of sampled methods: the standard deviation of each log probability, as judged by how its particles differ.
        Infinite where a single particle cannot tell. Where it is not small against 1, the logarithm is also biased,
        downwards, and the judgement itself is poor.
    impossible : int
        Scored tokens of probability zero, such as words that are in no topic. A probability of a word in a topic that
        is below 1e-200, or below 1e-300 when multiplied by the topic's share in the prior, counts as zero, since
        products of such numbers vanish in floating point; `completion` by a model's own estimates takes them as they
        are.
    """

    method: str
    log_probability: Floats
    n_tokens: NDArray[np.int64]
    monte_carlo_error: Floats | None = None
    impossible: int = 0

    @property
    def score(self) -> float:
        """Nats a token: the sum of the log probabilities over the number of scored tokens. Larger is better."""
        return math.fsum(self.log_probability) / int(self.n_tokens.sum())

    @property
    def standard_error(self) -> float:
        """Of `score`, as documents vary: how far the score of other documents of this kind would lie from it.

        Documents are drawn, not tokens: the score is a ratio of two sums over documents, and the standard error is that
        of a ratio. Infinite with one document, or where `score` is. Errors of sampling are part of what varies.
        """
        scored = self.n_tokens > 0
        n_documents, score = int(scored.sum()), self.score
        if n_documents < 2 or not math.isfinite(score):
            return math.inf
        residual = (self.log_probability - score * self.n_tokens)[scored]
        return math.sqrt(n_documents / (n_documents - 1) * math.fsum(residual**2)) / int(self.n_tokens.sum())

    @property
    def perplexity(self) -> float:
        """``exp(-score)``: the size of a fair die as hard to predict as a token. At least 1; smaller is better."""
        with np.errstate(over="ignore"):
            return float(np.exp(-self.score))

    @property
    def perplexity_error(self) -> float:
        """Standard error of `perplexity` to first order: ``perplexity * standard_error``."""
        return math.inf if math.isinf(self.perplexity) else self.perplexity * self.standard_error

    def __repr__(self) -> str:
        impossible = f", {self.impossible:,} of them impossible" if self.impossible else ""
        return (
            f"HeldOut({self.method}: {self.score:.4f} ± {self.standard_error:.4f} nats (base e) a token, perplexity "
            f"{self.perplexity:,.1f} ± {self.perplexity_error:,.1f}; {np.sum(self.n_tokens > 0):,} documents, "
            f"{self.n_tokens.sum():,} tokens{impossible})"
        )


# ------------------------------------------------------------------------------------------------- whole documents


def exact(
    model: Any,
    X: Corpus | ArrayLike,
    *,
    alpha: float | ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    engine: str = "fast",
) -> HeldOut:
    """log p(w | phi, alpha) of each document without error, for documents and topics so few that it can be had.

    The sum over all assignments of N tokens to topics, by way of the counts of tokens in topics: the number of steps is
    K (N + K over K). At most 200 million are done, about a second: 700 tokens in 3 topics, 18 in 10, or 4 in 80.

    Parameters
    ----------
    model : fitted model, Topics, or any object with `topic_word_`, `vocabulary_` and `alpha_`
        Of a model with several chains, a document's probability is the mean over chains. Probabilities of words below
        1e-200 count as zero: see `HeldOut.impossible`.
    X : Corpus or (D, V) counts
        Documents that the model was not fitted on, with its vocabulary.
    alpha : float or (K,) array > 0, optional
        Prior of the topic proportions instead of the model's own, or where it has none.
    n_jobs : int or None
        Threads; results do not depend on it. None means 1, -1 all cores.
    verbose : bool or None
        Progress bar: None shows it on a terminal, after a second.
    engine : {"fast", "reference"}
        The numba kernels, or the readable ones.

    Raises
    ------
    ValueError
        When a document takes more than 200 million steps, or `X` has another vocabulary or no token.
    """
    asked = _Asked.of(model, X, alpha, n_jobs, engine)
    for chain in asked.chains:
        _check_steps(asked.corpus, len(chain.alpha))

    def tasks(c: int, chain: _Chain, words: Ints) -> list[Callable[[], Estimate]]:
        return [lambda: (math.fsum(np.log(asked.kernels.exact(words, chain.phi_vk, chain.alpha)[0])), 0.0)]

    values, _ = asked.each_document(tasks, _only, "exact", verbose)
    return asked.result("exact", values)


def bound(
    model: Any,
    X: Corpus | ArrayLike,
    *,
    alpha: float | ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    engine: str = "fast",
) -> HeldOut:
    """The variational lower bound of log p(w | phi, alpha) of each document: never above it, and often far below.

    The E-step of variational LDA with known topics, until it has converged; the bound has no term of the topics. The
    perplexity is an upper bound. How far it is off depends on the model: do not compare it with other methods' values.
    `VariationalLDA.bound` is another one, averaged over the topics' posterior.

    Parameters and errors are those of `exact`, but documents may be of any length. With several chains it is the
    logarithm of the mean of the bounds' exponentials.
    """
    asked = _Asked.of(model, X, alpha, n_jobs, engine)

    def bounds_of(chain: _Chain, part: Corpus) -> Floats:
        log_phi_vk = chain.log_phi_vk()
        doc_gamma = fold_in_by_variation(part, log_phi_vk, chain.alpha, engine, n_jobs)
        return document_bounds(engine, n_jobs, type_form(part), log_phi_vk, doc_gamma, chain.alpha)

    values = []
    for chain in asked.chains:
        bounds = _in_batches(partial(bounds_of, chain), asked.corpus, "bound", verbose)
        values.append(np.where(asked.are_impossible(chain), -np.inf, bounds))
    return asked.result("variational bound", np.array(values))


def importance_sampling(
    model: Any,
    X: Corpus | ArrayLike,
    *,
    alpha: float | ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    proposal: str = "iterated",
    n_iterations: int = 10,
    n_samples: int = 1000,
    random_state: int | np.random.Generator | None = 0,
    engine: str = "fast",
) -> HeldOut:
    """log p(w | phi, alpha) of each document by importance sampling: log of an unbiased estimate, so low on average.

    Measured on speeches (`book/results/heldout_race.json`, alpha 0.1), ten iterations of the proposal came nearer than
    one, or none, for documents of 30 to 60 tokens with 5 topics and with 50, and for those of 600 tokens with 50. For
    the long ones they were also the best of all unbiased estimates, at a hundredth of the cost of `left_to_right`,
    which with many particles is the better one for short ones. Where a few particles have all the weight, the estimate
    is too low, and `monte_carlo_error` does not show it.

    Parameters
    ----------
    model, X, alpha, n_jobs, verbose, engine
        As for `exact`.
    proposal : {"iterated", "topics", "prior", "theta"}
        Where particles come from: "prior" draws the topics of tokens from alpha; "topics" from alpha times the
        probability of the word; "iterated" takes account, `n_iterations` times over, of what topics the other tokens
        seem to have; "theta" draws topic proportions from the prior, and sums over the topics of tokens.
    n_iterations : int from 0
        Of the proposal "iterated"; with 0 it is "topics". More are not always better: with a very small alpha they may
        settle on one of several equally good explanations of a document, and hardly ever draw the others.
    n_samples : int from 1
        Particles.
    random_state : int, Generator or None
        Where the documents' streams of random numbers begin. None takes fresh entropy.

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov and Mimno (2009), section 3.1.
    """
    one_of("proposal", proposal, ("iterated", "topics", "prior", "theta"))
    n_iterations, n_samples = whole("n_iterations", n_iterations, 0), whole("n_samples", n_samples, 1)
    asked = _Asked.of(model, X, alpha, n_jobs, engine)
    seed, kernels = _seed(random_state), asked.kernels

    def estimate(c: int, chain: _Chain, words: Ints) -> Estimate:
        rng, (phi_vk, alpha) = np.random.Generator(_stream(seed, c, words)), chain[:2]
        blocks = _blocks(n_samples, len(words))
        if proposal == "theta":
            theta = _dirichlet(rng, alpha, n_samples)
            return _log_mean([kernels.mixture_weights(words, phi_vk, theta[a:b]) for a, b in blocks])
        if proposal == "prior":
            q = np.tile(alpha / alpha.sum(), (len(words), 1))
        else:
            q = kernels.proposal(words, phi_vk, alpha, n_iterations if proposal == "iterated" else 0)
        uniforms = (rng.random((b - a, len(words))) for a, b in blocks)
        return _log_mean([kernels.importance_weights(words, phi_vk, alpha, q, u) for u in uniforms])

    def tasks(*document: Any) -> list[Callable[[], Estimate]]:
        return [partial(estimate, *document)]

    values, errors = asked.each_document(tasks, _only, "importance sampling", verbose)
    how = f"iterated {n_iterations} times" if proposal == "iterated" else proposal
    return asked.result(f"importance sampling, proposal {how}, {n_samples} particles", values, errors)


def left_to_right(
    model: Any,
    X: Corpus | ArrayLike,
    *,
    alpha: float | ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    n_particles: int = 20,
    n_sweeps: int = 1,
    combine: str = "particle",
    random_state: int | np.random.Generator | None = 0,
    engine: str = "fast",
) -> HeldOut:
    """log p(w | phi, alpha) of each document by particles that read it token by token.

    With `n_sweeps` from 1 the time grows with the square of a document's length, and so does the memory for a
    particle's random numbers: 0.4 GB a thread for 10,000 tokens. Measured on speeches
    (`book/results/heldout_race.json`): for documents of 30 to 60 tokens no sweep and many particles, such as
    ``n_sweeps=0, n_particles=1000``, come nearest for the time that they take. For documents of 600 tokens sweeps are
    worth their time, and `importance_sampling` comes as near for a hundredth of it.

    Parameters
    ----------
    model, X, alpha, n_jobs, verbose, engine
        As for `exact`. Threads share documents, and the particles of long ones.
    n_particles : int from 1
    n_sweeps : int from 0
        How often a particle redraws the topics of the earlier tokens before each token: 1 as published. With 0 it is
        cheaper by far: a particle is worse, but short documents are better served by more of them for the same time.
    combine : {"particle", "position"}
        "particle": the mean over particles of the product over tokens, which is an unbiased estimate of the
        probability; its logarithm is low on average, by about half the square of `monte_carlo_error`. "position": the
        product over tokens of the mean over particles, as published by Wallach and others and as commonly programmed;
        it varies less, but goes to another limit than the probability, however many the particles.
    random_state : int, Generator or None
        Where the documents' streams of random numbers begin. None takes fresh entropy.

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov and Mimno (2009), Algorithm 3.
    """
    one_of("combine", combine, ("particle", "position"))
    n_particles, n_sweeps = whole("n_particles", n_particles, 1), whole("n_sweeps", n_sweeps, 0)
    asked = _Asked.of(model, X, alpha, n_jobs, engine)
    seed = _seed(random_state)

    def read(c: int, chain: _Chain, words: Ints, width: int, first: int, last: int) -> Floats:
        stream = _stream(seed, c, words)
        stream.advance(first * width)  # a row of numbers for each particle, whichever block it is in
        uniforms = np.random.Generator(stream).random((last - first, width))
        probability = asked.kernels.left_to_right(words, chain.phi_vk, chain.alpha, uniforms, n_sweeps)
        return np.log(probability).sum(axis=1) if combine == "particle" else probability

    def tasks(c: int, chain: _Chain, words: Ints) -> list[Callable[[], Floats]]:
        width = len(words) + n_sweeps * len(words) * (len(words) - 1) // 2
        return [partial(read, c, chain, words, width, *block) for block in _blocks(n_particles, width)]

    take = _log_mean if combine == "particle" else _sum_of_log_means
    values, errors = asked.each_document(tasks, take, "left to right", verbose)
    how = f"{n_particles} particles, {n_sweeps} sweeps, combined by {combine}"
    return asked.result(f"left to right, {how}", values, errors)


# ------------------------------------------------------------------------------- with estimated topic proportions


def plug_in(
    model: Any,
    X: Corpus | ArrayLike,
    *,
    alpha: float | ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    theta: ArrayLike | None = None,
    fold_in: str | None = None,
    random_state: int | np.random.Generator | None = 0,
    engine: str = "fast",
) -> HeldOut:
    """log p(w | theta, phi) of each document with topic proportions that are taken for known.

    Without `theta` they are estimated from the very words that are scored: optimistic, the more so the more topics
    there are, and no probability of a document. It says how well a model fits, not how well it predicts.

    Parameters
    ----------
    model, X, alpha, n_jobs, verbose, engine
        As for `exact`. Of a model with several chains, a token's probability is the mean over chains.
    theta : (D, K) array >= 0, optional
        Topic proportions; rows sum to one. Estimated from other words they make an honest score, see `completion`.
    fold_in, random_state
        Without `theta`, how it is estimated: see `completion`. The most likely theta ("em") never scores below
        log p(w | phi, alpha).
    """
    asked = _Asked.of(model, X, alpha, n_jobs, engine, needs_prior=False)
    if theta is None:
        by_chain, how = asked.fold_in(fold_in, asked.corpus, random_state, verbose)
        how = f"theta of the same words {how}: optimistic"
    else:
        if len(asked.chains) > 1 or fold_in is not None:
            raise ValueError(
                "theta is given: leave fold_in out, and give Topics of one chain where a model has several, whose "
                "topics are not the same."
            )
        if alpha is not None:
            raise ValueError("alpha is given, and theta too, with which a prior plays no part: leave one of them out.")
        rows = distributions("theta", theta, "topic proportions as rows, shape (D, K)")
        shape = asked.corpus.n_documents, asked.chains[0].phi_vk.shape[1]
        if rows.shape != shape:
            raise ValueError(f"theta has shape {rows.shape}: give topic proportions as rows, shape {shape}.")
        by_chain, how = [(rows, asked.chains[0].phi_vk.T)], "theta given"
    log_probability, impossible = base.completion(by_chain, asked.corpus)
    return HeldOut(f"plug-in, {how}", log_probability, asked.corpus.lengths, None, impossible)


def completion(
    model: Any,
    X: Corpus | ArrayLike,
    *,
    alpha: float | ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    split: str = "random",
    fold_in: str | None = None,
    random_state: int | np.random.Generator | None = 0,
    engine: str = "fast",
) -> HeldOut:
    """Document completion: one half of each document's tokens is scored, given what the other says of its topics.

    The log probability of a token is log sum_k theta_k phi_k(word), with theta estimated from the observed half. The
    score of a model by its own estimates, ``completion(model, X).score``, is ``model.score(X)``.

    Parameters
    ----------
    model, X, alpha, n_jobs, verbose, engine
        As for `exact`. Of a model with several chains, a token's probability is the mean over chains.
    split : {"random", "half", "alternate"}
        Which tokens are observed, ceil(n / 2) of n: those that a fixed list of random numbers chooses, the same for
        every model; the first half; or every other one from the first. The last two need a corpus in the order of its
        texts. Speech drifts: the second half is harder to predict than the tokens between.
    fold_in : {None, "gibbs", "variational", "em", "exact"}
        How theta is estimated: by the mean of Gibbs sampling, the mean of the variational distribution, the most likely
        value, or the exact posterior mean of tiny documents; observed words that are in no topic are left out. None:
        as the model itself does in `transform`, with its own engine and prior, and by "variational" where there are
        only topics.
    random_state : int, Generator or None
        For "gibbs".

    Raises
    ------
    ValueError
        When no document has two tokens, or a split by position is asked of bags of words.

    Notes
    -----
    Source: Wallach, Murray, Salakhutdinov and Mimno (2009), section 5.1, of "estimated theta".
    """
    asked = _Asked.of(model, X, alpha, n_jobs, engine, needs_prior=False, ordered=split in ("half", "alternate"))
    observed, scored = halves(asked.corpus, split)
    by_chain, how = asked.fold_in(fold_in, observed, random_state, verbose)
    log_probability, impossible = base.completion(by_chain, scored)
    splits = {"random": "random halves", "half": "second half given the first", "alternate": "every other token"}
    return HeldOut(f"completion, {splits[split]}, theta {how}", log_probability, scored.lengths, None, impossible)


# --------------------------------------------------------------------------------------------------- what all share


class _Chain(NamedTuple):
    """The topics of one chain, as kernels want them."""

    phi_vk: Floats
    alpha: Floats | None

    @classmethod
    def of(cls, topics: Topics) -> Self:
        phi_vk, alpha = np.ascontiguousarray(topics.topic_word_.T), topics.alpha_
        least = LEAST if alpha is None else np.maximum(LEAST, LEAST_PRODUCT * (alpha.sum() / alpha))
        return cls(np.where(phi_vk < least, 0.0, phi_vk), alpha)

    def possible(self, corpus: Corpus) -> NDArray[np.bool_]:
        """Which tokens (N,) have a positive probability in some topic."""
        return self.phi_vk.any(axis=1)[corpus.words]

    def log_phi_vk(self) -> Floats:
        return np.log(self.phi_vk, where=self.phi_vk > 0, out=np.full(self.phi_vk.shape, LOG_ZERO))


class _Asked(NamedTuple):
    """What a function was asked, checked."""

    model: Any
    corpus: Corpus
    chains: list[_Chain]
    alpha: float | ArrayLike | None
    n_jobs: int | None
    engine: str

    @classmethod
    def of(
        cls,
        model: Any,
        X: Corpus | ArrayLike,
        alpha: float | ArrayLike | None,
        n_jobs: int | None,
        engine: str,
        *,
        needs_prior: bool = True,
        ordered: bool = False,
    ) -> Self:
        topics = chains(model, alpha)
        corpus = as_corpus(X, topics[0].vocabulary_)
        if not corpus.n_tokens:
            raise ValueError("X has no token: there is nothing to score.")
        corpus = corpus if ordered else corpus.bags()
        asked = cls(model, corpus, [_Chain.of(each) for each in topics], alpha, n_jobs, engine)
        threads(n_jobs), asked.kernels
        if needs_prior:
            asked.check_prior()
        return asked

    @property
    def kernels(self) -> ModuleType:
        return kernels_of(__package__, self.engine)

    def check_prior(self) -> None:
        if any(chain.alpha is None for chain in self.chains):
            raise ValueError(
                "model has no prior of documents, alpha_: give alpha, a number for each topic, such as alpha=0.1."
            )

    def are_impossible(self, chain: _Chain) -> NDArray[np.bool_]:
        """Which documents (D,) have a token that is in no topic."""
        return tokens_where(self.corpus, ~chain.possible(self.corpus)).lengths > 0

    def each_document(
        self,
        tasks_of: Callable[[int, _Chain, Ints], list[Callable[[], Any]]],
        take: Callable[[list[Any]], Estimate],
        what: str,
        verbose: bool | None,
    ) -> tuple[Floats, Floats]:
        """Log probabilities and their errors, (C, D): what `take` makes of the results of each document's tasks.

        Threads share tasks; results are taken in order. A document without tokens has probability one, one with a token
        that is in no topic probability zero.
        """
        values, errors = np.zeros((2, len(self.chains), self.corpus.n_documents))
        work = []
        for c, chain in enumerate(self.chains):
            impossible = self.are_impossible(chain)
            values[c, impossible] = -np.inf
            for d in np.flatnonzero(~impossible & (self.corpus.lengths > 0)):
                words = self.corpus.words[self.corpus.doc_start[d] : self.corpus.doc_start[d + 1]]
                work.append((c, d, tasks_of(c, chain, words)))
        n_threads, waiting, upcoming = threads(self.n_jobs), deque(), iter(work)
        with (
            ThreadPoolExecutor(n_threads) as pool,
            closing(iterate(len(work), what=what, verbose=verbose)) as loop,
        ):
            try:
                for _ in loop:
                    for c, d, tasks in islice(upcoming, 1 + 16 * n_threads - len(waiting)):
                        waiting.append((c, d, [pool.submit(task) for task in tasks]))
                    c, d, results = waiting.popleft()
                    values[c, d], errors[c, d] = take([result.result() for result in results])
            finally:  # also after Ctrl-C: what has not begun need not
                pool.shutdown(wait=False, cancel_futures=True)
        return values, errors

    def result(self, method: str, values: Floats, errors: Floats | None = None) -> HeldOut:
        """From log probabilities and their errors in each chain, (C, D): a probability is the mean over chains."""
        total = logsumexp(values, axis=0)
        if errors is not None:
            shares = np.exp(values - np.where(np.isfinite(total), total, np.inf))
            shares = np.where(np.isfinite(total), shares, 1.0)  # of nothing
            errors = np.sqrt(np.sum((shares * np.where(shares > 0, errors, 0.0)) ** 2, axis=0))
        possible = np.any([chain.possible(self.corpus) for chain in self.chains], axis=0)
        log_probability = total - math.log(len(values))
        return HeldOut(method, log_probability, self.corpus.lengths, errors, int(np.sum(~possible)))

    def fold_in(
        self, how: str | None, observed: Corpus, random_state: int | np.random.Generator | None, verbose: bool | None
    ) -> tuple[list[tuple[Floats, Floats]], str]:
        """Topic proportions (D, K) of documents and topics (K, V), in each chain, and how they were found."""
        one_of("fold_in", how, (None, "gibbs", "variational", "em", "exact"))
        as_generator(random_state)  # checked, also where nothing is drawn
        own = how is None and hasattr(self.model, "_by_chain")
        if self.alpha is not None and (own or how == "em"):
            raise ValueError(
                f"alpha is given, and with fold_in={how!r} topic proportions are estimated without it: choose "
                "fold_in='gibbs', 'variational' or 'exact', or leave alpha out."
            )
        if own:
            model = self.model if self.n_jobs is None else copy.copy(self.model).set_params(n_jobs=self.n_jobs)
            return list(model._by_chain(observed)), f"by {type(model).__name__}"
        how = how or "variational"
        if how != "em":
            self.check_prior()
        seed = _seed(random_state)
        by_chain = []
        for chain in self.chains:
            known = tokens_where(observed, chain.possible(observed))
            theta = _in_batches(partial(self.theta, how, chain, seed), known, "fold-in", verbose)
            by_chain.append((theta, chain.phi_vk.T))
        return by_chain, f"by {how}"

    def theta(self, how: str, chain: _Chain, seed: int, part: Corpus) -> Floats:
        """Topic proportions (D, K) of documents whose words are all possible."""
        (phi_vk, alpha), how_run = chain, (self.engine, self.n_jobs)
        if how == "gibbs":
            return fold_in_by_gibbs(part, phi_vk.T, alpha, seed, *how_run)
        if how == "variational":
            return normalised(fold_in_by_variation(part, chain.log_phi_vk(), alpha, *how_run))
        if how == "em":
            return fold_in_by_em(part, phi_vk.T, np.full(phi_vk.shape[1], 1 / phi_vk.shape[1]), *how_run)
        _check_steps(part, len(alpha))
        documents = [part.words[a:b] for a, b in pairwise(part.doc_start.tolist())]
        return np.array([self.kernels.exact(words, phi_vk, alpha)[1] for words in documents])


def _check_steps(corpus: Corpus, n_topics: int) -> None:
    """The counts of n tokens in K topics have (n + K - 1 over K - 1) states, each with K that come after it."""
    longest = int(corpus.lengths.max())
    n_steps = n_topics * math.comb(longest + n_topics, n_topics)  # the sum for n = 0, ..., N
    if n_steps > MAX_STEPS:
        raise ValueError(
            f"X has a document of {longest} tokens, which takes {n_steps:,} steps with {n_topics} topics; at most "
            f"{MAX_STEPS:,} are done. Take shorter documents or fewer topics, or sample by left_to_right."
        )


def _in_batches(rows_of: Callable[[Corpus], Floats], corpus: Corpus, what: str, verbose: bool | None) -> Floats:
    """What a function makes of documents, (D, ...), a batch of them at a time."""
    rows, n_batches = [], -(-corpus.n_documents // BATCH)
    with closing(iterate(n_batches, what=what, verbose=verbose)) as loop:
        for i in loop:
            rows.append(rows_of(corpus[i * BATCH : (i + 1) * BATCH]))
    return np.concatenate(rows)


def _seed(random_state: int | np.random.Generator | None) -> int:
    rng = as_generator(random_state)
    return int(random_state) if isinstance(random_state, int | np.integer) else int(rng.integers(2**63))


def _stream(seed: int, c: int, words: Ints) -> np.random.PCG64:
    """The random numbers of a document in chain c: they depend on its words, and not on where it stands."""
    of_words = int.from_bytes(hashlib.sha256(words.astype("<i4").tobytes()).digest())
    return np.random.PCG64(np.random.SeedSequence([seed, c, of_words]))


def _blocks(n_particles: int, width: int) -> list[tuple[int, int]]:
    """Ranges of particles that need `width` numbers each, few enough to be held at once."""
    step = max(1, BLOCK // width)
    return [(first, min(first + step, n_particles)) for first in range(0, n_particles, step)]


def _dirichlet(rng: np.random.Generator, alpha: Floats, n: int) -> Floats:
    """Draws (n, K) by logarithms of gamma variables, which do not vanish for the smallest alpha."""
    logs = np.log(rng.standard_gamma(alpha + 1, (n, len(alpha)))) + np.log1p(-rng.random((n, len(alpha)))) / alpha
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _only(results: list[Estimate]) -> Estimate:
    return results[0]


def _log_mean(blocks: list[Floats]) -> Estimate:
    """The logarithm of the mean of particles' weights, given by their logarithms, and its error."""
    log_weight = np.concatenate(blocks)
    top = log_weight.max()
    if top == -np.inf:
        return -math.inf, math.inf
    weight = np.exp(log_weight - top)
    return float(top + np.log(weight.mean())), _error_of_mean(weight / weight.mean())


def _sum_of_log_means(blocks: list[Floats]) -> Estimate:
    """The sum over tokens of the logarithm of the mean over particles, and its error to first order."""
    probability = np.concatenate(blocks)
    mean = probability.mean(axis=0)
    return math.fsum(np.log(mean)), _error_of_mean((probability / mean).sum(axis=1))


def _error_of_mean(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf
