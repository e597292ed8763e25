"""Concentration parameters of Dirichlet processes, sampled (Escobar and West 1995; Teh et al. 2004).

>>> from bnptopics import concentrations
>>> round(concentrations.expected_topics([150] * 500, alpha=1.0, gamma=1.0), 1)  # before any word is read
8.5
>>> draws = concentrations.sample(n_customers=[12, 0, 30], n_tables=9, random_state=0)  # and given counts
>>> print(f"{draws.mean():.1f} +- {draws.std():.1f}")
1.5 +- 0.6

The functions are imported when they are first used, since they need numba and scikit-learn.
"""

from typing import Any

__all__ = ["expected_tables", "expected_topics", "sample"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module 'bnptopics.concentrations' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
