r"""Errata of Teh, Jordan, Beal and Blei (2004), who introduced the hierarchical Dirichlet process.

In the paper's letters: groups $j$, customers $i=1,\dots,n_j$, tables $t$, dishes $k$; $m_{jk}$ tables of group $j$
serve dish $k$, $m_k$ in all; $\alpha_0$ is the concentration of the groups (elsewhere here: $\alpha$), $\gamma$ that
of the whole.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln, gammaln

from ..models import dp, hdp
from . import Errata

ALPHA_0, GAMMA = 1.3, 0.7

section_2, section_3, section_4, section_5, appendix = Errata(), Errata(), Errata(), Errata(), Errata()

__all__ = ["section_2", "section_3", "section_4", "section_5", "appendix"]  # noqa: RUF022, the paper's order


# ------------------------------------------------------------------------------------------------ the Dirichlet process


@section_2.add(
    "Text after (1)",
    "wording",
    printed=r"the number of distinct values among $n$ draws grows as $O(\log n)$",
    right=r"the number is random, and any from one to $n$ can happen. Its *mean* grows so, with a factor that matters: "
    r"$\sum_{i\lt n}\alpha_0/(\alpha_0+i)\approx\alpha_0\log(1+n/\alpha_0)$ ({eq}`eq-dp-clusters`). The paper's "
    r"introduction says "
    "it right",
    shown="With $\\alpha_0=<alpha>$ and $n=<n:,>$ the logarithm of $n$ is <logarithm:.2f>, the mean number of values "
    "<mean:.2f> (the approximation says <rough:.2f>) with a standard deviation of <deviation:.2f>.",
)
def values_grow_as_the_logarithm() -> dict[str, float]:
    alpha, n = 5, 1000
    return {
        "alpha": alpha,
        "n": n,
        "logarithm": math.log(n),
        "mean": dp.expected_clusters(n, alpha),
        "rough": alpha * math.log(1 + n / alpha),
        "deviation": math.sqrt(dp.variance_clusters(n, alpha)),
    }


@section_2.add(
    "(2)",
    "slip",
    printed=r"$\beta_k=\beta'_k\prod_{l=1}^{k-1}(1-\beta'_k)$: the factor does not know the $l$ of its product",
    right=r"$\beta'_k\prod_{l=1}^{k-1}(1-\beta'_l)$ ({eq}`def-dp-sticks`), as (6) has it",
    shown="With $\\alpha_0=<alpha>$ the printed weights sum to <mean:.0f> on average, but not surely: the sum has a "
    "standard deviation of <deviation:.3f>, where a stick has <right:.0f>.",
)
def every_stick_broken_from_itself() -> dict[str, float]:
    # The printed weights are independent: v_k (1 - v_k)^(k - 1), with v_k from Beta(1, alpha_0).
    k = np.arange(1, 100_001)
    first = ALPHA_0 * np.exp(betaln(2, ALPHA_0 + k - 1))
    second = ALPHA_0 * np.exp(betaln(3, ALPHA_0 + 2 * k - 2))
    tail = ALPHA_0 / (ALPHA_0 + len(k))  # of the means, which are alpha / ((alpha + k - 1) (alpha + k))
    return {
        "alpha": ALPHA_0,
        "mean": math.fsum(first) + tail,
        "deviation": math.sqrt(math.fsum(second - first**2)),
        "right": 0.0,
    }


# ----------------------------------------------------------------------------------- the hierarchical Dirichlet process


@section_3.add(
    "(3)",
    "slip",
    printed=r"$G_j\mid\alpha,G_0\sim\mathrm{DP}(\alpha_0,G_0)$",
    right=r"$G_j\mid\alpha_0,G_0$",
    shown="Of the <letters> letters behind the bars of the four lines of the model, <unknown> is used nowhere else in "
    "the paper.",
)
def alpha_without_its_index() -> dict[str, float]:
    behind_bars = ["γ", "H", "α", "G_0", "G_j", "φ_ji"]
    known = {"γ", "H", "α_0", "G_0", "G_j", "φ_ji"}
    return {"letters": len(behind_bars), "unknown": len(set(behind_bars) - known)}


# -------------------------------------------------------------------------------------------------------- the franchise

# Two restaurants have five tables: the one that opens the next has served dish 1 at its only table so far.
M_JK, M_K = np.array([1, 0]), np.array([3, 2])


@section_4.add(
    "(8), first term",
    "error",
    printed=r"$\sum_k\dfrac{m_k}{\sum_{k'}m_{jk'}+\gamma}\,\delta_k$: above the line the tables of all restaurants, "
    r"below it those of one",
    right=r"$\sum_k\dfrac{m_k}{\sum_{k'}m_{k'}+\gamma}\,\delta_k$ ({eq}`eq-hdp-dish`)",
    shown="<all> tables, <own> of them in restaurant $j$, $\\gamma=<gamma>$: as printed the dishes on the menu have "
    "together a probability of <printed:.2f>, where <right:.3f> is right.",
)
def tables_of_one_restaurant() -> dict[str, float]:
    return {
        "all": M_K.sum(),
        "own": M_JK.sum(),
        "gamma": GAMMA,
        "printed": (M_K / (M_JK.sum() + GAMMA)).sum(),
        "right": (M_K / (M_K.sum() + GAMMA)).sum(),
    }


@section_4.add(
    "(8), second term",
    "error",
    printed=r"$\dfrac{\gamma}{\sum_{k'}m_{k'}+\alpha_0}\,\delta_{k^{new}}$",
    right=r"$\dfrac{\gamma}{\sum_{k'}m_{k'}+\gamma}\,\delta_{k^{new}}$",
    shown="At the <all> tables above, with $\\alpha_0=<alpha>$, a new dish has probability <printed:.4f> instead of "
    "<right:.4f>. With this slip alone all dishes sum to <total:.4f>, with both to <both:.2f>.",
)
def alpha_for_gamma() -> dict[str, float]:
    printed = GAMMA / (M_K.sum() + ALPHA_0)
    return {
        "all": M_K.sum(),
        "alpha": ALPHA_0,
        "printed": printed,
        "right": GAMMA / (M_K.sum() + GAMMA),
        "total": (M_K / (M_K.sum() + GAMMA)).sum() + printed,
        "both": (M_K / (M_JK.sum() + GAMMA)).sum() + printed,
    }


@section_4.add(
    "(8), what is given",
    "slip",
    printed=r"$k_{11},\dots,k_{1n_1},k_{21},\dots,k_{j\,t-1}$: a dish for each of the $n_1$ customers",
    right=r"a dish for each *table*: $k_{11},\dots,k_{1m_1},k_{21},\dots$",
    shown="A restaurant of <customers> customers at <tables> tables: <missing> of the <customers> dishes that are "
    "named do not exist.",
)
def a_dish_for_each_customer() -> dict[str, float]:
    table = (0, 0, 1, 0, 1)
    dish_of_table = {0: "a", 1: "b"}
    return {
        "customers": len(table),
        "tables": len(dish_of_table),
        "missing": sum(t not in dish_of_table for t in range(len(table))),
    }


# ------------------------------------------------------------------------------------------------------ the experiments


@section_5.add(
    "Footnote 2",
    "wording",
    printed="the concentration parameters have “a vague gamma prior”",
    right="its shape and rate, since no prior is vague for a parameter of which the data say little "
    "({eq}`eq-concentrations-gamma`)",
    shown="<topics> topics at <tables:,> tables: the posterior mean of $\\gamma$ is <narrow:.1f> when its prior is "
    "Gamma(<shape>, <narrow_rate>), by shape and rate, and <wide:.1f> with Gamma(<shape>, <wide_rate>).",
)
def a_vague_gamma_prior() -> dict[str, float]:
    topics, tables, shape, rates = 67, 10_000, 1, (1, 0.1)

    def mean(rate: float) -> float:
        def density(gamma: float, power: float) -> float:
            log_p = (shape + topics - 1) * math.log(gamma) - rate * gamma + gammaln(gamma) - gammaln(gamma + tables)
            return math.exp(log_p - log_peak) * gamma**power

        grid = np.linspace(0.01, 60, 2000)
        log_peak = np.max((shape + topics - 1) * np.log(grid) - rate * grid + gammaln(grid) - gammaln(grid + tables))
        moments = [quad(density, 1e-9, 60, args=(power,), epsabs=0, epsrel=1e-10, limit=400)[0] for power in (0, 1)]
        return moments[1] / moments[0]

    return {
        "topics": topics,
        "tables": tables,
        "shape": shape,
        "narrow": mean(rates[0]),
        "narrow_rate": rates[0],
        "wide": mean(rates[1]),
        "wide_rate": rates[1],
    }


@section_5.add(
    "Nematode biology abstracts; figure 2",
    "wording",
    printed="“the perplexity of both models on held out abstracts”, without a formula",
    right="a formula, for there are several ({doc}`what_does_it_predict`). Here: {eq}`eq-franchise-predict` for whole "
    "documents",
    shown="Two topics over three words, with weights $<first>$ and $<second>$ beside a remainder of $<rest>$, and a "
    "new document of <tokens> tokens: its "
    "perplexity is <whole:.3f>. That of its second half, given the first, is <half:.3f>. Both are exact.",
)
def perplexity_without_a_formula() -> dict[str, float]:
    phi = np.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6], [1 / 3, 1 / 3, 1 / 3]])
    beta = np.array([0.5, 0.3, 0.2])
    words = [0, 2, 0, 0]
    whole = hdp.log_heldout(words, phi, beta, ALPHA_0)
    half = whole - hdp.log_heldout(words[:2], phi, beta, ALPHA_0)
    return {
        "first": beta[0],
        "second": beta[1],
        "rest": beta[2],
        "tokens": len(words),
        "whole": math.exp(-whole / 4),
        "half": math.exp(-half / 2),
    }


# ---------------------------------------------------------------------------------------------------------- the sampler


@appendix.add(
    "(9)",
    "error",
    printed=r"a new table has weight $\alpha_0f(x_{ji}\mid\theta_{k_{jt}})$, where “we may sample $k_{jt^{new}}$ using "
    r"(8), and $\theta_{k^{new}}\sim H$”: a dish is drawn for the table that may be opened, then the customer chooses",
    right="a new table has the weight of all its dishes together, and its dish is drawn only when it has been chosen: "
    "{eq}`eq-franchise-table`. (Or else a customer who sits alone has its own dish for a candidate.)",
    shown="Two documents of <tokens> tokens, the same <tokens> words in both, <states> seatings, $\\eta=<eta>$: one "
    "step of the printed kernel moves a probability of the exact posterior by up to <printed:.4f>, one of the right "
    "kernel by <right:.1f>. Swept through the corpus for ever, the printed one ends a total variation distance of "
    "<far:.3f> away.",
)
def candidate_before_the_choice() -> dict[str, float]:
    words, doc_start, eta = [0, 1, 0, 1], [0, 2, 4], np.array([0.5, 0.5])
    exact = hdp.posterior(words, doc_start, ALPHA_0, GAMMA, eta)
    pi = exact.probability
    printed = [hdp.naive_seat_move(exact, words, doc_start, ALPHA_0, GAMMA, eta, n) for n in range(4)]
    sweep = np.linalg.multi_dot(printed)
    # The law that the sweep leaves as it is: all rows of a high power of it.
    limit = np.linalg.matrix_power(sweep, 1024)[0]
    return {
        "tokens": 2,
        "states": len(pi),
        "eta": eta[0],
        "printed": np.abs(pi @ printed[0] - pi).max(),
        "right": np.abs(pi @ hdp.seat_move(exact, 0) - pi).max(),
        "far": np.abs(limit - pi).sum() / 2,
    }


@appendix.add(
    "(10)",
    "error",
    printed=r"a new dish has weight $\gamma\prod_{i:t_{ji}=t}f(x_{ji}\mid\theta_{k^{new}})$, where "
    r"$\theta_{k^{new}}\sim H$: the same trap",
    right=r"$\gamma\int\prod_if(x_{ji}\mid\theta)\,dH(\theta)$ ({eq}`eq-franchise-dish`), and then $\theta_{k^{new}}$ "
    r"from its posterior "
    "given the words of the table",
    shown="One table with one word; a dish $(<a>, <b>)$ that another table has too; and an $H$ that gives each of "
    "$(<a>, <b>)$ and $(<b>, <a>)$ a half. "
    "The printed kernel moves a posterior probability by up to <printed:.4f>, the right one by <right:.1f>.",
)
def parameter_before_the_choice() -> dict[str, float]:
    theta, h = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5])
    f = theta[:, 1]  # the probability of the word
    # The table has the other table's dish, which is theta[0], or one of its own, which is theta[0] or theta[1].
    pi = np.array([f[0], GAMMA * h[0] * f[0], GAMMA * h[1] * f[1]])
    pi /= pi.sum()
    # Whatever the dish was: if it was its own it is gone, and the new one is drawn from H.
    row = np.array([(h * f[0] / (f[0] + GAMMA * f)).sum(), *(h * GAMMA * f / (f[0] + GAMMA * f))])
    weight = np.array([f[0], *(GAMMA * h * f)])
    return {
        "a": theta[0, 0],
        "b": theta[0, 1],
        "printed": np.abs(np.tile(row, (3, 1)).T @ pi - pi).max(),
        "right": np.abs(weight / weight.sum() - pi).max(),
    }


@appendix.add(
    "(10), its counts",
    "slip",
    printed=r"$m_k^{-t}$ in the formula, $m_k^{-jt}$ in the text above it",
    right=r"$m_k^{-jt}$: without the one table",
    shown="<restaurants> restaurants of two tables each, all with one dish: without table $t$ of restaurant $j$ there "
    "are <right> tables, without all tables numbered $t$ there are <printed>.",
)
def table_without_its_restaurant() -> dict[str, float]:
    tables = [(j, t) for j in range(3) for t in range(2)]
    return {
        "restaurants": 3,
        "right": sum(table != (0, 0) for table in tables),
        "printed": sum(t != 0 for _, t in tables),
    }
