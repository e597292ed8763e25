"""Corpora to work with: real ones (``load_...``) and simulated ones whose truth is known (``make_...``).

The State of the Union addresses come with the installation. All other real corpora are fetched once, onto the user's
own machine, from where their owners or others have published them; after that no network is asked. None is part of this
library, and what each may be used for stands in the documentation of its loader.
"""

from ._fetch import cache_folder
from .public import load_alice, load_ap, load_nematode, load_newsgroups, load_nips, load_reuters, load_wikipedia
from .simulated import LDATruth, make_lda_corpus
from .sotu import load_sotu

__all__ = [
    "LDATruth",
    "cache_folder",
    "load_alice",
    "load_ap",
    "load_nematode",
    "load_newsgroups",
    "load_nips",
    "load_reuters",
    "load_sotu",
    "load_wikipedia",
    "make_lda_corpus",
]
