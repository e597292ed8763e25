"""The Dirichlet process: partitions of unknown size, and mixtures with as many clusters as the data ask for.

`expected_clusters` and `number_of_clusters` say what a concentration means, `simulate_partition` draws from it.
`MultinomialDPMixture` and `GaussianDPMixture` cluster documents and vectors.
"""

from typing import Any

__all__ = [
    "GaussianDPMixture",
    "MultinomialDPMixture",
    "expected_clusters",
    "number_of_clusters",
    "simulate_partition",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__]
