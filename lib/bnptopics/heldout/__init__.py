"""Probability of held-out documents: exact, bounded, completed, sampled.

The functions are imported when they are first used, since they need numba and scikit-learn.
"""

from typing import Any

__all__ = ["HeldOut", "bound", "completion", "exact", "importance_sampling", "left_to_right", "plug_in"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module 'bnptopics.heldout' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
