"""What the kernels of collapsed Gibbs sampling must do, and the bugs that the checks are known to catch."""

import itertools
import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..models import lda
from ..verify import Spec, checks, close, exact, gradient, law, transition_matrix
from ..verify.specification import Case, Chain, Kernel
from . import cases

ROUNDING = close(rtol=1e-12, atol=1e-15, because="a handful of products and sums in float64")

# ----------------------------------------------------------------------------------------------------------- sweep


def counts_are_those_of_z(before: Case, after: Case, result: object, tolerance: float) -> None:
    """After a sweep the counts are exactly what counting `z` gives, and `z` holds topics."""
    n_topics = len(after["alpha"])
    assert ((after["z"] >= 0) & (after["z"] < n_topics)).all(), "z holds something that is not a topic"
    counts = cases.recount(after["words"], after["doc_start"], after["z"], n_topics, len(after["eta"]))
    for name, right in zip(("n_dk", "n_vk", "n_k"), counts, strict=True):
        assert np.array_equal(after[name], right), f"`{name}` is not the count of the `z` it came back with"


# For exact matrices: more words than topics, a repeated word in a document, a document of one token, uneven priors.
EXACT_CORPORA = (
    cases.state([[(0, 0), (1, 0), (1, 0)], [(2, 0)]], [0.5, 1.2], [0.3, 1.0, 0.6]),
    cases.state([[(0, 0), (0, 0)], [(1, 0)]], [0.5, 1.2, 0.8], [0.3, 1.1, 0.6, 0.2]),
)


def sweep_matrix(kernel: Kernel, corpus: Case, **options) -> tuple[NDArray[np.float64], lda.Posterior]:
    """The transition matrix of one sweep over all K**N states, and the exact posterior over the same states.

    `options` are those of `verify.law`.
    """
    words, doc_start, alpha, eta = (corpus[name] for name in ("words", "doc_start", "alpha", "eta"))
    posterior = lda.posterior(words, doc_start, alpha, eta)

    states = [tuple(z) for z in posterior.states.tolist()]
    arrays = {z: list(cases.at(corpus, np.array(z)).values())[2:6] for z in states}

    def step(z: tuple[int, ...], uniforms: NDArray[np.float64]) -> tuple[int, ...]:
        new, *counts = (array.copy() for array in arrays[z])
        kernel(words, doc_start, new, *counts, alpha, eta, uniforms)
        return tuple(new.tolist())

    return transition_matrix(step, states, len(words), **options), posterior


@checks("eq-gibbs-invariance", "eq-gibbs-conditional", "eq-gibbs-draw", source="Faleiros & Lopes (3.21), Algorithm 3")
def leaves_the_posterior_as_it_is(kernel: Kernel) -> None:
    """The kernel's own transition matrix P has pi P = pi with pi enumerated, and takes every state to every other."""
    for corpus in EXACT_CORPORA:
        matrix, posterior = sweep_matrix(kernel, corpus)
        off = np.abs(posterior.probability @ matrix - posterior.probability).max()
        assert off < 1e-12, f"pi P differs from pi by {off:.1e}: the posterior does not stay as it is"
        assert matrix.min() > 0, "some state cannot be reached from some other in one sweep"


# For kernels that draw their random numbers themselves. Found by a search among some thousands of corpora of three
# tokens: together they tell every planted bug from the truth in few sweeps. A document without tokens, a word repeated
# in a document, one shared by two, words that never occur; three topics; and one token with seventeen topics, of which
# the last is drawn often, for kernels that go through the topics in blocks.
SWEEP_CHAIN = Chain(
    inputs=(
        cases.state([[(1, 0), (2, 0)], [], [(1, 0)]], [0.2, 0.1], [0.1, 0.2, 0.2]),
        cases.state([[(1, 0)], [(1, 0), (1, 0)]], [2.0, 1.0], [0.1, 1.0, 0.2]),
        cases.state([[(1, 0), (0, 0)]], [0.1, 0.5, 0.5], [0.2, 0.1]),
        cases.state([[(0, 0)]], [0.1] * 16 + [0.9], [0.3, 1.0]),
    ),
    state="z",
    at=cases.at,
    exact=cases.exact_sweep,
    matrix=lambda kernel, corpus: sweep_matrix(kernel, corpus, grid=1, width=1e-4)[0],
    write=cases.in_words,
)

sweep = Spec(
    "lda_gibbs.sweep",
    inputs=cases.gibbs_states(),
    changes=("z", "n_dk", "n_vk", "n_k"),
    observe=lambda args, result: {name: args[name] for name in ("z", "n_dk", "n_vk", "n_k")},
    agree={"z": cases.path},
    invariants=[counts_are_those_of_z],
    checks=[leaves_the_posterior_as_it_is],
    small=cases.smallest_states,
    large=cases.large_states,
    simplify=partial(cases.simpler_states, path=cases.path),
    explain=cases.explain,
    chain=SWEEP_CHAIN,
    planted={
        "counts the token against itself in its document": (
            "weights = topic_weights(n_dk[d], n_vk[v], n_k, alpha, eta[v], eta_sum)",
            "weights = topic_weights(n_dk[d] + (np.arange(len(n_k)) == k), n_vk[v], n_k, alpha, eta[v], eta_sum)",
        ),
        "counts the token against itself in its word": (
            "weights = topic_weights(n_dk[d], n_vk[v], n_k, alpha, eta[v], eta_sum)",
            "weights = topic_weights(n_dk[d], n_vk[v] + (np.arange(len(n_k)) == k), n_k, alpha, eta[v], eta_sum)",
        ),
        "never takes the token out of its document": ("            n_dk[d, k] -= 1  # out of the counts\n", ""),
        "never takes the token out of its word": ("            n_vk[v, k] -= 1\n", ""),
        "never puts the token back into its topic": ("            n_k[k] += 1\n", ""),
        "forgets to write the topic down": ("            z[n] = k\n", ""),
        "leaves out the size of the topic": (" / (n_k[k] + eta_sum)\n", "\n"),
        "leaves out the document": ("(n_d[k] + alpha[k]) * (n_v[k] + eta_v)", "(n_v[k] + eta_v)"),
        "forgets to smooth the word": ("(n_v[k] + eta_v)", "(n_v[k] + 1e-12)"),
        "normalises with K instead of V": ("    eta_sum = eta.sum()\n", "    eta_sum = len(alpha) * eta[0]\n"),
        "takes eta of the first word for every word": (
            "weights = topic_weights(n_dk[d], n_vk[v], n_k, alpha, eta[v], eta_sum)",
            "weights = topic_weights(n_dk[d], n_vk[v], n_k, alpha, eta[0], eta_sum)",
        ),
        "takes alpha for symmetric": ("(n_d[k] + alpha[k])", "(n_d[k] + alpha[0])"),
        "gives alpha one part in 10**5 too much": ("(n_d[k] + alpha[k])", "(n_d[k] + 1.00001 * alpha[k])"),
        "takes the uniform for a cumulative weight": (
            "uniform * cumulative[-1]",
            "min(uniform, 0.99 * cumulative[-1])",
        ),
        "uses one uniform for a whole document": (
            "draw(weights, uniforms[n])",
            "draw(weights, uniforms[doc_start[d]])",
        ),
        "skips the last token of every document": (
            "        for n in range(doc_start[d], doc_start[d + 1]):\n            v, k",
            "        for n in range(doc_start[d], doc_start[d + 1] - 1):\n            v, k",
        ),
        "looks at the first sixteen topics only": (
            '    return int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))\n',
            '    return min(int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right")), 15)\n',
        ),
        "takes the most probable topic": ("k = draw(weights, uniforms[n])", "k = int(np.argmax(weights))"),
    },
)

# ---------------------------------------------------------------------------------------------------- sparse sweep

# Buckets of one document of three tokens, and of one token; long enough intervals for a grid to meet each.
BUCKETED = cases.state([[(0, 0), (1, 1), (1, 0)], [(2, 1)], [(1, 1), (0, 0)]], [0.5, 1.2], [0.3, 1.0, 0.6])


@checks("eq-fast-buckets", "eq-fast-document", "eq-fast-draw", source="Yao, Mimno and McCallum (2009), section 3.4")
def draws_each_token_from_its_conditional(kernel: Kernel) -> None:
    """A token's law, by bisection over its uniform with the others held, is the normalised vector of joints (1e-12)."""
    words, doc_start, alpha, eta = (BUCKETED[name] for name in ("words", "doc_start", "alpha", "eta"))
    n_topics = len(alpha)
    rng = np.random.default_rng(3)
    for token in range(len(words)):
        uniforms = rng.random(len(words))

        def after(u: NDArray[np.float64], token: int = token, uniforms: NDArray = uniforms) -> tuple[int, ...]:
            args = {name: value.copy() for name, value in BUCKETED.items()}
            kernel(*args.values(), np.where(np.arange(len(words)) == token, u, uniforms))
            return tuple(args["z"][: token + 1].tolist())  # what comes later depends on this token

        found = law(after, 1, grid=400)
        joints = []
        for k in range(n_topics):
            z = [*next(iter(found))[:token], k, *BUCKETED["z"][token + 1 :]]
            joints.append(math.exp(lda.collapsed_log_joint(words, doc_start, z, alpha, eta)))
        for earlier_and_own, probability in found.items():
            assert abs(probability - joints[earlier_and_own[-1]] / sum(joints)) < 1e-12, (token, found)


sweep_sparse = Spec(
    "lda_gibbs.sweep_sparse",
    inputs=cases.gibbs_states(cases.walk_sparse),
    changes=("z", "n_dk", "n_vk", "n_k"),
    observe=sweep.observe,
    agree={"z": cases.sparse_path},
    invariants=[counts_are_those_of_z],
    checks=[draws_each_token_from_its_conditional],
    small=partial(cases.smallest_states, cases.walk_sparse),
    large=partial(cases.large_states, cases.walk_sparse),
    simplify=partial(cases.simpler_states, path=cases.sparse_path),
    explain=cases.explain,
    planted={
        "leaves out the smoothing bucket": (
            "smoothing = alpha * eta_v / (n_k + eta_sum)",
            "smoothing = alpha * 1e-300",
        ),
        "leaves out the document bucket": (
            "document = eta_v / (n_k[others] + eta_sum)",
            "document = 0.0 * n_k[others]",
        ),
        "smooths the word bucket too": ("word = (n_d + alpha) * n_v /", "word = (n_d + alpha) * (n_v + eta_v) /"),
        "forgets alpha in the word bucket": ("word = (n_d + alpha) * n_v /", "word = n_d * n_v /"),
        "counts the token among the others of its document": (
            "others = np.delete(z[start:stop], n - start)",
            "others = z[start:stop].copy()",
        ),
        "takes the next document for the token's": (
            "others = np.delete(z[start:stop], n - start)",
            "others = np.delete(z[start:stop], n - start) if stop == len(z) else z[stop:][: stop - start - 1]",
        ),
        "counts a topic of the document once however many tokens it has": (
            "others = np.delete(z[start:stop], n - start)",
            "others = np.unique(np.delete(z[start:stop], n - start))",
        ),
        "goes through the document's topics and not its tokens": (
            "others = np.delete(z[start:stop], n - start)",
            "others = np.sort(np.delete(z[start:stop], n - start))",
        ),
        "looks into the document bucket first": (
            "return np.concatenate([word, document, smoothing]), np.concatenate([every_topic, others, every_topic])",
            "return np.concatenate([document, word, smoothing]), np.concatenate([others, every_topic, every_topic])",
        ),
        "takes eta of the first word for every word": (
            "buckets(n_dk[d], n_vk[v], n_k, others, alpha, eta[v], eta_sum)",
            "buckets(n_dk[d], n_vk[v], n_k, others, alpha, eta[0], eta_sum)",
        ),
        "weighs the document bucket by sizes that count the token": (
            "document = eta_v / (n_k[others] + eta_sum)",
            "document = eta_v / (n_k[others] + 1 + eta_sum)",
        ),
        "forgets to write the topic down": (
            "k = topics[draw(weights, uniforms[n])]\n            z[n] = k\n",
            "k = topics[draw(weights, uniforms[n])]\n",
        ),
        "never puts the token back into its document": (
            "k = topics[draw(weights, uniforms[n])]\n            z[n] = k\n            n_dk[d, k] += 1",
            "k = topics[draw(weights, uniforms[n])]\n            z[n] = k\n            n_dk[d, k] += 0",
        ),
        "draws from the first thirty-two weights only": (
            "k = topics[draw(weights, uniforms[n])]",
            "k = topics[min(draw(weights, uniforms[n]), 31)]",
        ),
    },
)

# ------------------------------------------------------------------------------------------------------ initialise


def _state_of(args: Case, result: tuple) -> dict[str, NDArray]:
    return dict(zip(("z", "n_dk", "n_vk", "n_k"), result, strict=True))


initialise = Spec(
    "lda_gibbs.initialise",
    inputs=cases.corpora_with_uniforms(),
    observe=_state_of,
    agree={"z": exact, "n_dk": exact, "n_vk": exact, "n_k": exact},
    planted={
        "rounds up": ("np.floor(uniforms * n_topics)", "np.ceil(uniforms * n_topics - 1e-12)"),
        "counts by position instead of by word": ("n_vk[words[n], z[n]] += 1", "n_vk[n % vocab_size, z[n]] += 1"),
        "counts a word once a document": ("            n_dk[d, z[n]] += 1\n", "            n_dk[d, z[n]] = 1\n"),
    },
)

# ------------------------------------------------------------------------------------------------ full conditional


@checks("eq-gibbs-conditional", "eq-gibbs-remove", "eq-gibbs-weights", source="Faleiros & Lopes (3.17)-(3.21)")
def is_the_ratio_of_joints(kernel: Kernel) -> None:
    """The conditional is the normalised vector of K joint probabilities, each from the urn scheme (1e-10)."""
    corpus = cases.state(
        [[(0, 0), (1, 1), (1, 2), (2, 0)], [(2, 1), (0, 2), (3, 1)], [(3, 0)]], [0.5, 0.9, 1.7], [0.3, 0.4, 0.7, 0.2]
    )
    for token in range(len(corpus["words"])):
        joints = []
        for k in range(len(corpus["alpha"])):
            z = corpus["z"].copy()
            z[token] = k
            joints.append(
                lda.collapsed_log_joint(corpus["words"], corpus["doc_start"], z, corpus["alpha"], corpus["eta"])
            )
        probability = np.exp(np.array(joints) - max(joints))
        np.testing.assert_allclose(kernel(*corpus.values(), token), probability / probability.sum(), rtol=1e-10, atol=0)


def sums_to_one(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Probabilities are positive and sum to one."""
    assert np.all(result > 0) and abs(np.sum(result) - 1) < tolerance, f"{result} is not a distribution"


full_conditional = Spec(
    "lda_gibbs.full_conditional",
    inputs=cases.states_with_token(),
    agree={"result": ROUNDING},
    invariants=[sums_to_one],
    checks=[is_the_ratio_of_joints],
    planted={
        "counts the token against itself in its document": ("topic_weights(n_dk[d] - itself", "topic_weights(n_dk[d]"),
        "counts the token against itself in its word": ("n_vk[v] - itself", "n_vk[v]"),
        "counts the token against itself in its topic": ("n_k - itself", "n_k"),
        "forgets to normalise": ("    return weights / weights.sum()\n", "    return weights\n"),
        "takes alpha for symmetric": ("(n_d[k] + alpha[k])", "(n_d[k] + alpha[0])"),
        "finds the wrong document": (
            'd, v = np.searchsorted(doc_start, token, side="right") - 1, words[token]',
            'd, v = np.searchsorted(doc_start, token, side="left") - 1, words[token]',
        ),
    },
)

# ------------------------------------------------------------------------------------------------------- log joint


@checks("eq-gibbs-joint", source="Faleiros & Lopes (3.13), with errata of (3.10)-(3.12)")
def sums_to_one_over_all_corpora(kernel: Kernel) -> None:
    """Summed over every assignment and every choice of words, the joint is one (1e-12)."""
    alpha, eta = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7])
    doc_start = np.array([0, 2, 3])
    total = 0.0
    for words in itertools.product(range(3), repeat=3):
        for z in itertools.product(range(2), repeat=3):
            total += math.exp(kernel(*cases.recount(np.array(words), doc_start, np.array(z), 2, 3), alpha, eta))
    assert abs(total - 1) < 1e-12, total


@checks("eq-gibbs-joint", "eq-gibbs-factors", source="Faleiros & Lopes (3.4)-(3.13)")
def is_the_urn_scheme(kernel: Kernel) -> None:
    """The ratio of Gamma functions equals the product of urn predictives, token by token (1e-11)."""
    rng = np.random.default_rng(1)
    alpha, eta = np.array([0.5, 0.9, 2.0]), np.array([0.3, 0.4, 0.7, 0.2])
    for _ in range(10):
        sample = lda.simulate(rng, [4, 0, 3, 1], alpha, eta)
        counts = cases.recount(sample.words, sample.doc_start, sample.z, 3, 4)
        urn = lda.collapsed_log_joint(sample.words, sample.doc_start, sample.z, alpha, eta)
        assert abs(kernel(*counts, alpha, eta) - urn) < 1e-11


log_joint = Spec(
    "lda_gibbs.log_joint",
    inputs=cases.select("n_dk", "n_vk", "n_k", "alpha", "eta"),
    agree={"result": close(rtol=1e-12, atol=1e-11, because="log-gammas of up to 20 that largely cancel")},
    checks=[sums_to_one_over_all_corpora, is_the_urn_scheme],
    planted={
        "normalises with K instead of V": ("-lgamma(n + eta.sum())", "-lgamma(n + len(alpha) * eta[0])"),
        "takes eta for symmetric": ("lgamma(n + e) - lgamma(e) for", "lgamma(n + eta[0]) - lgamma(eta[0]) for"),
        "leaves out the prior's normaliser": ("lgamma(n + a) - lgamma(a) for", "lgamma(n + a) for"),
        "forgets the length of the document": ("-lgamma(n_d.sum() + alpha.sum())", "-lgamma(1 + alpha.sum())"),
        "takes a count for a Gamma function's argument less one": (
            "lgamma(n + e) - lgamma(e) for",
            "lgamma(n + e + 1) - lgamma(e + 1) for",
        ),
    },
)

# ------------------------------------------------------------------------------------------------------- estimates


def _appended(case: Case, d: int, v: int, k: int) -> float:
    """p(w, z) with one more token, word v and topic k in document d, over p(w, z) without: by the urn scheme."""
    words, doc_start, z, alpha, eta = (case[name] for name in ("words", "doc_start", "z", "alpha", "eta"))
    at = doc_start[d + 1]
    longer = np.where(np.arange(len(doc_start)) > d, doc_start + 1, doc_start)
    with_it = lda.collapsed_log_joint(np.insert(words, at, v), longer, np.insert(z, at, k), alpha, eta)
    return math.exp(with_it - lda.collapsed_log_joint(words, doc_start, z, alpha, eta))


ESTIMATED = cases.state([[(0, 0), (1, 1), (1, 1)], [(2, 0)], []], [0.5, 1.2], [0.3, 1.0, 0.6])


@checks("eq-gibbs-theta", "eq-gibbs-predictive", source="Faleiros & Lopes (3.22), with its erratum")
def predicts_the_next_topic(kernel: Kernel) -> None:
    """theta_dk is the probability that a further token of document d takes topic k: a ratio of joints (1e-12)."""
    theta = kernel(ESTIMATED["n_dk"], ESTIMATED["alpha"])
    for d, k in itertools.product(range(3), range(2)):
        assert abs(theta[d, k] - sum(_appended(ESTIMATED, d, v, k) for v in range(3))) < 1e-12


@checks("eq-gibbs-phi", "eq-gibbs-predictive", source="Faleiros & Lopes (3.23), with its erratum")
def predicts_the_next_word(kernel: Kernel) -> None:
    """phi_kv is the probability that a further token of topic k is word v: a ratio of joints (1e-12)."""
    phi = kernel(ESTIMATED["n_vk"], ESTIMATED["n_k"], ESTIMATED["eta"])
    for k in range(2):
        joint = np.array([_appended(ESTIMATED, 0, v, k) for v in range(3)])
        np.testing.assert_allclose(phi[:, k], joint / joint.sum(), rtol=1e-12, atol=0)


def rows_sum_to_one(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """A distribution over topics for each document."""
    assert np.abs(np.sum(result, axis=1) - 1).max() < tolerance, "a row does not sum to one"


def columns_sum_to_one(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """A distribution over words for each topic."""
    assert np.abs(np.sum(result, axis=0) - 1).max() < tolerance, "a column does not sum to one"


doc_topic = Spec(
    "lda_gibbs.doc_topic",
    inputs=cases.select("n_dk", "alpha"),
    agree={"result": ROUNDING},
    invariants=[rows_sum_to_one],
    checks=[predicts_the_next_topic],
    planted={
        "adds alpha once a document instead of once a topic (as printed)": (
            "(n_dk.sum(axis=1, keepdims=True) + alpha.sum())",
            "(n_dk.sum(axis=1, keepdims=True) + len(n_dk) * alpha)",
        ),
        "forgets the prior": ("return (n_dk + alpha) / ", "return n_dk / "),
    },
)

topic_word = Spec(
    "lda_gibbs.topic_word",
    inputs=cases.select("n_vk", "n_k", "eta"),
    agree={"result": ROUNDING},
    invariants=[columns_sum_to_one],
    checks=[predicts_the_next_word],
    planted={
        "takes eta of the topic's number instead of the word's (as printed)": (
            "(n_vk + eta[:, np.newaxis]) / (n_k + eta.sum())",
            "(n_vk + eta[np.arange(len(n_k)) % len(eta)]) / (n_k + len(eta) * eta[np.arange(len(n_k)) % len(eta)])",
        ),
        "normalises over topics": ("(n_k + eta.sum())", "(n_vk.sum(axis=1, keepdims=True) + eta.sum())"),
    },
)

# --------------------------------------------------------------------------------------------------------- fold-in


def totals_are_sweeps_times_length(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Every counted sweep counts every token once."""
    counted = before["uniforms"].shape[1] - before["burn_in"]
    assert np.array_equal(np.sum(result, axis=1), counted * np.diff(before["doc_start"])), (
        "tokens are missing or too many"
    )


@checks("eq-gibbs-fold-in")
def follows_the_exact_chain(kernel: Kernel) -> None:
    """The law of the totals equals the one computed from the document's exact posterior, for one and for two sweeps."""
    alpha = np.array([0.5, 1.2])
    phi = np.array([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]])
    words = np.array([0, 2], dtype=np.int32)
    exact_posterior = lda.document_posterior(words, phi.T, alpha)
    joint = exact_posterior.probability.reshape(2, 2)
    first = lda.document_posterior(words[:1], phi.T, alpha).probability
    start = first[:, None] * joint / joint.sum(axis=1, keepdims=True)  # second token given the first
    given_first = joint / joint.sum(axis=1, keepdims=True)
    given_second = joint / joint.sum(axis=0, keepdims=True)
    for n_sweeps, burn_in in ((1, 0), (2, 1), (2, 0)):
        expected: dict[tuple[int, int], float] = {}
        for a, b, c, e in itertools.product(range(2), repeat=4):
            p = start[a, b] * given_second[c, b] * given_first[c, e]  # then the first given the second, and back
            kept = [(a, b), (c, e)][burn_in:n_sweeps]
            in_first = sum(pair.count(0) for pair in kept)
            outcome = (in_first, 2 * len(kept) - in_first)
            expected[outcome] = expected.get(outcome, 0.0) + p

        def outcome(u: NDArray, n_sweeps: int = n_sweeps, burn_in: int = burn_in) -> tuple:
            table = u.reshape(n_sweeps, 2).T.copy()
            return tuple(kernel(words, np.array([0, 2]), phi, alpha, table, burn_in)[0].tolist())

        found = law(outcome, 2 * n_sweeps, rests=20)
        assert found.keys() == expected.keys()
        assert all(abs(found[key] - expected[key]) < 1e-12 for key in expected), (found, expected)


fold_in = Spec(
    "lda_gibbs.fold_in",
    inputs=cases.new_documents(),
    large=cases.large_new_documents,
    margin=cases.fold_in_margin,
    agree={"result": exact},
    invariants=[totals_are_sweeps_times_length],
    checks=[follows_the_exact_chain],
    planted={
        "never takes the token out": ("                    counts[topics[n]] -= 1\n", "                    pass\n"),
        "counts the burn-in too": ("if s >= burn_in:", "if s >= 0:"),
        "forgets the prior": ("draw((counts + alpha) * topic_word[v]", "draw((counts + 1.0) * topic_word[v]"),
        "leaves out the document": ("draw((counts + alpha) * topic_word[v]", "draw(alpha * topic_word[v]"),
        "starts a document where the last one ended": (
            "        counts = np.zeros(n_topics, dtype=np.int64)\n",
            "        counts = counts if d else np.zeros(n_topics, dtype=np.int64)\n",
        ),
        "counts tokens that have no seat yet": (
            "topics[n] = draw((counts + alpha)",
            "topics[n] = draw((np.bincount(topics, minlength=n_topics) - (np.arange(n_topics) == topics[n]) + alpha)",
        ),
    },
)

# ---------------------------------------------------------------------------------------------------------- priors


def log_evidence_of_counts(counts: NDArray, prior: NDArray) -> float:
    """Log of prod_i B(prior + n_i) / B(prior) over the rows n_i of `counts`: one factor of the joint."""
    total = math.fsum(prior)
    terms = [math.lgamma(total) - math.lgamma(sum(row) + total) for row in counts.tolist()]
    terms += [
        math.lgamma(n + a) - math.lgamma(a) for row in counts.tolist() for n, a in zip(row, prior, strict=True) if n
    ]
    return math.fsum(terms)


def _does_not_fall(counts: NDArray, old: NDArray, new: NDArray, tolerance: float) -> None:
    before, after = log_evidence_of_counts(counts, old), log_evidence_of_counts(counts, new)
    assert after >= before - tolerance * (1 + abs(before)), f"the evidence fell from {before!r} to {after!r}"


def evidence_of_alpha_does_not_fall(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """log p(z | alpha) is no smaller under the new prior."""
    _does_not_fall(before["n_dk"], before["alpha"], result, tolerance)


def evidence_of_eta_does_not_fall(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """log p(w | z, eta) is no smaller under the new prior."""
    _does_not_fall(before["n_vk"].T, before["eta"], result, tolerance)


def proportions_stay(before: Case, after: Case, result: NDArray, tolerance: float) -> None:
    """Every entry of eta is multiplied by one factor."""
    factors = np.asarray(result) / before["eta"]
    assert np.abs(factors / factors[0] - 1).max() < tolerance, f"entries were multiplied by {factors}"


# Three documents, of four, three and two tokens.
PINNED = np.array([[2, 2], [1, 2], [2, 0]], dtype=np.int32)


@checks("eq-gibbs-minka-alpha", "eq-gibbs-from-prior", source="Minka (2000)")
def takes_the_pinned_step(kernel: Kernel) -> None:
    """From alpha = (0.5, 0.9) to the numbers of an independent derivation (1e-11), and the evidence with it."""
    start = np.array([0.5, 0.9])
    step = kernel(PINNED, start)
    np.testing.assert_allclose(step, [0.871280538537, 0.700359475953], rtol=1e-11, atol=0)
    found = [log_evidence_of_counts(PINNED, start), log_evidence_of_counts(PINNED, step)]
    np.testing.assert_allclose(found, [-7.760502910528, -7.066683822579], rtol=0, atol=1e-11)


# Over-dispersed, so that the optimum is finite; five rows, three columns, one of them rare.
UNEVEN = np.array([[9, 0, 1], [0, 7, 0], [12, 1, 0], [0, 8, 2], [3, 3, 0]], dtype=np.int32)


def _limit(step: Kernel, start: NDArray, n_steps: int = 2000) -> NDArray:
    with np.errstate(all="ignore"):  # a wrong kernel may run away
        for _ in range(n_steps):
            start = step(start)
    return start


@checks("eq-gibbs-minka-alpha", source="Minka (2000)")
def ends_where_the_slope_is_zero(kernel: Kernel) -> None:
    """Repeated, the step stops at a point where all slopes of the evidence vanish (1e-6), by central differences."""
    end = _limit(lambda alpha: kernel(UNEVEN, alpha), np.ones(3))
    slopes = gradient(lambda alpha: log_evidence_of_counts(UNEVEN, alpha), end)
    assert np.abs(slopes).max() < 1e-6, f"at {end} the slopes are {slopes}"


@checks("eq-gibbs-minka-eta", source="Minka (2000)")
def ends_where_the_slope_along_the_ray_is_zero(kernel: Kernel) -> None:
    """Repeated, the step stops where the evidence no longer changes with the size of eta (1e-6), even or uneven."""
    n_vk, n_k = np.ascontiguousarray(UNEVEN.T), UNEVEN.sum(axis=1, dtype=np.int32)
    for start in (np.ones(3), np.array([0.5, 0.4, 0.1])):
        end = _limit(lambda eta: kernel(n_vk, n_k, eta), start)
        (slope,) = gradient(lambda size, end=end: log_evidence_of_counts(UNEVEN, size[0] * end), np.ones(1))
        assert abs(slope) < 1e-6, f"at {end} the slope along the ray is {slope}"


PRIOR_ROUNDING = close(rtol=1e-12, atol=1e-15, because="a ratio of sums of positive terms in float64")

update_alpha = Spec(
    "lda_gibbs.update_alpha",
    inputs=cases.select("n_dk", "alpha"),
    large=lambda: cases.large_counts("n_dk", "alpha"),
    agree={"result": PRIOR_ROUNDING},
    invariants=[evidence_of_alpha_does_not_fall],
    checks=[takes_the_pinned_step, ends_where_the_slope_is_zero],
    planted={
        "counts one draw too many": ("for i in range(n))", "for i in range(n + 1))"),
        "takes every draw for one from the prior": ("return fsum(a / (a + i) for i in range(n))", "return float(n)"),
        "gives the mean topic the size of alpha": ("return alpha_sum * of_topic", "return alpha * of_topic"),
        "divides by all tokens": (
            "of_all = fsum(draws_from_prior(n, alpha_sum) for n in n_dk.sum(axis=1))",
            "of_all = float(n_dk.sum())",
        ),
        "takes the corpus for one document": (
            "of_all = fsum(draws_from_prior(n, alpha_sum) for n in n_dk.sum(axis=1))",
            "of_all = draws_from_prior(n_dk.sum(), alpha_sum)",
        ),
        "takes alpha for symmetric": ("draws_from_prior(n, alpha[k])", "draws_from_prior(n, alpha[0])"),
    },
)

update_eta = Spec(
    "lda_gibbs.update_eta",
    inputs=cases.select("n_vk", "n_k", "eta"),
    large=lambda: cases.large_counts("n_vk", "n_k", "eta"),
    agree={"result": PRIOR_ROUNDING},
    invariants=[evidence_of_eta_does_not_fall, proportions_stay],
    checks=[ends_where_the_slope_along_the_ray_is_zero],
    planted={
        "counts one draw too many": ("for i in range(n))", "for i in range(n + 1))"),
        "takes eta for symmetric": ("draws_from_prior(n, eta[v])", "draws_from_prior(n, eta[0])"),
        "gives every word an eta of its own": (
            "return eta * of_words / of_all if of_all else eta.copy()",
            "return eta * of_words / of_all * (1 + (n_vk > 0).sum(axis=1)) / (1 + (n_vk > 0).sum()) if of_all else eta",
        ),
        "divides by all tokens": (
            "of_all = fsum(draws_from_prior(n, eta.sum()) for n in n_k)",
            "of_all = float(n_k.sum())",
        ),
        "forgets how many words there are": (
            "draws_from_prior(n, eta.sum()) for n in n_k)",
            "draws_from_prior(n, eta[0]) for n in n_k)",
        ),
        "takes the topics for one": (
            "of_all = fsum(draws_from_prior(n, eta.sum()) for n in n_k)",
            "of_all = draws_from_prior(n_k.sum(), eta.sum())",
        ),
    },
)
