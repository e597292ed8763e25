"""Bayesian topic models: a textbook that runs and a library that can be trusted.

Everything is imported when it is first used, so that `import bnptopics` is quick and works where numba is absent.
"""

import importlib
from importlib.metadata import version
from typing import Any

_HOME = {
    "Corpus": "corpus",
    "CorpusStream": "streams",
    "DirectHDP": "hdp_direct.estimator",
    "FranchiseHDP": "hdp_franchise.estimator",
    "GaussianDPMixture": "dirichlet_process.estimator",
    "GibbsLDA": "lda_gibbs.estimator",
    "KLNMF": "nmf.estimator",
    "MultinomialDPMixture": "dirichlet_process.estimator",
    "OnlineLDA": "lda_online.estimator",
    "PLSI": "nmf.estimator",
    "Topics": "topics",
    "TreeHDP": "hdp_tree.estimator",
    "VariationalLDA": "lda_variational.estimator",
    "compare": "comparison",
    "load": "base",
    "match_topics": "matching",
    "stability": "matching",
}
_MODULES = (
    "coherence",
    "comparison",
    "concentrations",
    "datasets",
    "dirichlet_process",
    "heldout",
    "intrusion",
    "models",
    "show",
    "verify",
)

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"bnptopics.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"bnptopics.{name}")
    if name == "__version__":
        return version("bnptopics")
    raise AttributeError(f"module 'bnptopics' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
