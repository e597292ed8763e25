"""Concentrations, for users: what a choice of them says before any word is read, and what counts say about them.

A concentration is a total: with `alpha` = 1 the first token of a document has a table to itself, and the next one opens
another with probability 1/2. Priors are gamma distributions, by shape and *rate*; their mean is shape / rate.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad

from ..base import as_generator, kernels_of, number, whole

# So many customers or tables at most: numbers up to here are their own floats, and so are differences of one.
MOST = 2**31 - 1
# Concentrations and parameters of priors: products of two must neither vanish nor overflow.
LOW, HIGH = 1e-100, 1e100
# A topic that leaves exp(-40) of the corpus to others is used by every document.
SURE = 40.0


def sample(
    n_customers: int | ArrayLike,
    n_tables: int | ArrayLike,
    *,
    shape: float = 1.0,
    rate: float = 1.0,
    n_samples: int = 1_000,
    burn_in: int = 100,
    thin: int = 10,
    random_state: int | np.random.Generator | None = None,
    engine: str = "fast",
) -> NDArray[np.float64]:
    """Draw a concentration from its posterior given counts (eq-concentrations-gamma, eq-concentrations-alpha).

    Parameters
    ----------
    n_customers : int or (D,) int, from 0
        Customers of one restaurant, or of each of several that share the concentration. For the `alpha` of an HDP the
        tokens of each document; for its `gamma` the tables of all documents together; for a Dirichlet process mixture
        the observations.
    n_tables : int or (D,) int
        Tables of all restaurants together, or of each: for `gamma` the topics, for a mixture the clusters.
    shape, rate : float > 0, default 1
        Gamma prior of the concentration.
    n_samples : int, default 1000
        How many draws to return.
    burn_in, thin : int, default 100 and 10
        Steps of the chain before the first draw is kept, and from one that is kept to the next.
    random_state : int, numpy.random.Generator or None, default None
        Same seed, same draws.
    engine : {"fast", "reference"}, default "fast"

    Returns
    -------
    draws : (n_samples,) float64
        From 1e-100 to 1e100. Without a customer they are independent draws from the prior.

    Raises
    ------
    ValueError
        For counts that cannot be, and for parameters out of range.

    Notes
    -----
    Source: Escobar and West (1995) for one restaurant; Teh, Jordan, Beal and Blei (2004) for several.
    """
    customers, tables = _counts("n_customers", n_customers), _counts("n_tables", n_tables)
    several = customers.ndim == 1
    if tables.ndim and tables.shape != customers.shape:
        raise ValueError(
            f"n_tables has shape {tables.shape} and n_customers {customers.shape}: give the sum of the tables, or as "
            "many entries as there are restaurants."
        )
    least, most = np.minimum(customers, 1), customers
    if not tables.ndim:
        least, most = least.sum(), most.sum()
    wrong = (tables < least) | (tables > most)
    if wrong.any():
        i = int(np.argmax(wrong))
        where = f"[{i}]" if tables.ndim else ""
        found, low, high = (int(np.ravel(array)[i]) for array in (tables, least, most))
        raise ValueError(
            f"n_tables{where} is {found}, and n_customers says from {low} to {high}: each restaurant with a customer "
            "has a table, and each table has one."
        )
    shape, rate = _positive("shape", shape), _positive("rate", rate)
    n_samples, burn_in, thin = whole("n_samples", n_samples, 1), whole("burn_in", burn_in, 0), whole("thin", thin, 1)
    kernels, rng = kernels_of(__package__, engine), as_generator(random_state)
    n_d, m = np.atleast_1d(customers)[np.atleast_1d(customers) > 0], int(tables.sum())
    value, draws = shape / rate, np.empty(n_samples)
    for i in range(n_samples):
        for _ in range(thin if i else burn_in + 1):
            if several and len(n_d) > 1:
                value = kernels.update_alpha(value, n_d, m, shape, rate, rng)
            else:
                value = kernels.update_gamma(value, m, int(n_d.sum()), shape, rate, rng)
        draws[i] = value
    return draws


def expected_tables(lengths: int | ArrayLike, alpha: float) -> float:
    """How many tables all documents together are expected to have, before any word is read (eq-hdp-expected).

    Parameters
    ----------
    lengths : int or (D,) int, from 0
        Tokens of one document, or of each.
    alpha : float > 0
        Concentration of the documents.

    Raises
    ------
    ValueError
        For lengths that are no whole numbers from 0, and for a concentration out of range.
    """
    n_tokens, chance = _chances(_counts("lengths", lengths), _positive("alpha", alpha))
    return float(n_tokens @ chance)


def expected_topics(lengths: int | ArrayLike, alpha: float, gamma: float) -> float:
    """How many topics the documents are expected to have, before any word is read (eq-hdp-expected).

    A mean over all numbers of tables, not the number at their mean: the integral, over the weight b of a topic, of
    the chance that some document uses it.

    Parameters
    ----------
    lengths : int or (D,) int, from 0
        Tokens of one document, or of each.
    alpha, gamma : float > 0
        Concentrations of the documents and of the corpus.

    Returns
    -------
    n_topics : float
        With a relative error below 1e-8.

    Raises
    ------
    ValueError
        For lengths that are no whole numbers from 0, and for concentrations out of range.

    Notes
    -----
    A corpus is expected to have gamma (1 - b)^(gamma - 1) / b db topics of weight b. A document of N tokens does not
    use such a one with probability Gamma(alpha (1 - b) + N) Gamma(alpha) / Gamma(alpha (1 - b)) / Gamma(alpha + N).
    """
    lengths, alpha, gamma = _counts("lengths", lengths), _positive("alpha", alpha), _positive("gamma", gamma)
    n_tokens, chance = _chances(lengths, alpha)
    n_tables = float(n_tokens @ chance)
    if not n_tables:
        return 0.0

    def used(b: float) -> float:
        """The probability that a topic of weight b is used by some document."""
        with np.errstate(divide="ignore"):  # one of weight 1 is surely used
            return -math.expm1(float(n_tokens @ np.log1p(-b * chance)))

    def integral(integrand: Callable[[float], float], low: float, high: float, points: list[float]) -> float:
        inside = sorted({y for y in points if low < y < high}) or None
        return quad(integrand, low, high, points=inside, epsabs=0, epsrel=1e-10, limit=500)[0]

    # Weights up to 1/2 by their logarithm, from where hardly a table is missed. Then by that of what they leave, up to
    # where a topic is used for sure: of those weights the integral is known.
    bends = [-math.log(n_tables), -math.log(gamma)]
    small = integral(
        lambda y: used(math.exp(y)) * math.exp((gamma - 1) * math.log1p(-math.exp(y))),
        min(*bends, math.log(0.5)) - 30,
        math.log(0.5),
        bends,
    )
    large = integral(lambda y: used(-math.expm1(-y)) / -math.expm1(-y) * math.exp(-gamma * y), math.log(2), SURE, [])
    return gamma * (small + large) + math.exp(-gamma * SURE)


def _chances(lengths: NDArray[np.int64], alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """With what chance tokens open tables: how many tokens (J,) have each chance (J,), together those of all documents.

    The one after i others of its document does with chance alpha / (alpha + i). Beyond the ten thousandth, tokens whose
    chances differ by less than a tenth are given their mean.
    """
    lengths = lengths[lengths > 0] if lengths.ndim else lengths[np.newaxis]
    longest = int(lengths.max(initial=0))
    many = (10_000 * 1.1 ** np.arange(150)).astype(np.int64)  # up to more than `MOST`
    edges = np.unique(np.concatenate([np.arange(10_000), many, lengths]))
    edges = edges[edges <= longest]
    first, width = edges[:-1].astype(np.float64), np.diff(edges)
    documents = len(lengths) - np.searchsorted(np.sort(lengths), edges[:-1], side="right")  # longer than `first`
    mean = alpha * np.log1p(width / (alpha + np.maximum(first - 0.5, 1.0))) / width
    return (documents * width).astype(np.float64), np.where(width == 1, alpha / (alpha + first), np.minimum(mean, 1))


def _counts(name: str, value: int | ArrayLike) -> NDArray[np.int64]:
    """A count, or one for each restaurant: whole numbers from 0 whose sum stays within `MOST`."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.array("")
    if not array.size and array.ndim == 1:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iuf" or array.ndim > 1:
        raise ValueError(f"{name} is {value!r}: give a whole number from 0, or a list of them.")
    wrong = ~((array >= 0) & (array <= MOST) & (array == np.floor(array)))
    if wrong.any():
        where = f"[{int(np.argmax(wrong))}]" if array.ndim else ""
        raise ValueError(
            f"{name}{where} is {np.ravel(array)[np.argmax(wrong)]}: it must be a whole number from 0 to 2**31 - 1."
        )
    if array.sum(dtype=np.float64) > MOST:
        raise ValueError(f"{name} add up to {int(array.sum(dtype=np.float64))}: the sum must stay below 2**31.")
    return array.astype(np.int64)


def _positive(name: str, value: float) -> float:
    return number(name, value, "above 0 and finite (1e-100 to 1e100)", lambda x: LOW <= x <= HIGH)
