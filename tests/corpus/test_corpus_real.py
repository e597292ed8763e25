"""Real corpora, where they are at hand: sizes as published, and files written back byte by byte."""

import gzip
import lzma
import os
from pathlib import Path

import pytest

from bnptopics.corpus import Corpus

# documents, terms, tokens, non-zeros
SIZES = {
    "cgcbib": (5941, 5696, 487999, 346297),
    "nips": (2483, 14036, 3280697, 1304438),
    "ap": (2246, 10473, 435838, 302031),
    "arxiv": (3577, 5733, 266855, 191373),
    "kos": (3430, 6906, 467714, 353160),
    "bbc": (2225, 2949, 267259, 182484),
}


@pytest.mark.parametrize("name", SIZES)
def test_real_corpus(name, tmp_path):
    folder = Path(os.environ.get("BNPTOPICS_DATA", "missing"), name)
    if not folder.is_dir():
        pytest.skip("BNPTOPICS_DATA names no folder with this corpus")
    (path,) = folder.glob("corpus.ldac.*")
    corpus = Corpus.from_ldac(path, folder / "vocab.txt")
    assert (corpus.n_documents, corpus.vocab_size, corpus.n_tokens, corpus.counts.nnz) == SIZES[name]
    unpack = lzma.decompress if path.suffix == ".xz" else gzip.decompress
    corpus.to_ldac(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == unpack(path.read_bytes())
