"""Coherence of topics: do their words meet in documents? And diversity: are they different topics?

`umass`, `uci`, `npmi` and `cv` measure how often the top words of each topic meet in a reference corpus, and return a
`Coherence`. `diversity`, `redundancy` and `topics_holding` say how many topics there are, in effect.
"""

from typing import Any

__all__ = ["Coherence", "cv", "diversity", "npmi", "redundancy", "topics_holding", "uci", "umass"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__]
