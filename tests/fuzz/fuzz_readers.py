"""Feed the readers files that are slightly, or badly, wrong.

Each case makes a small valid file, in a random style, and mutates it: bits flipped, pieces deleted, doubled, moved,
digits changed, lines swapped, files joined or cut off, before it is packed or after. Then there are two right outcomes:
a ValueError that names the file (a MemoryError, where it asks for hundreds of millions of tokens), or the corpus that
the file, as it now is, describes according to a slow oracle (`oracles.py`). Everything else is a failure: another
exception, another corpus, a well-formed file refused, a crash, more than ten seconds, more than two gigabytes. The
cases are numbered, and the same each time:

    python tests/fuzz/fuzz_readers.py 100000                    all readers, and a table of what became of the files
    python tests/fuzz/fuzz_readers.py --reader uci --case 123   one case, shown

They run in a process of their own, so that a crash is noticed too. `make fuzz` is the first of these.
"""

import argparse
import contextlib
import faulthandler
import functools
import gzip
import hashlib
import io
import json
import lzma
import random
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import oracles
from oracles import Refused

import bnptopics
from bnptopics import Corpus, CorpusStream, GibbsLDA, _formats, _storage

SECONDS = 10  # a case may take
MEMORY = 2 * 2**30  # bytes a process may take
LARGE = 10**8  # a file that says it has more tokens than this may meet the end of that memory
NUMBERS = [
    0,
    1,
    2,
    7,
    10,
    255,
    65536,
    2**22,
    10**8,
    10**8 + 1,
    2**31 - 1,
    2**31,
    2**32,
    10**18 - 1,
    10**18,
    2**63,
    10**30,
]
BITS = [
    "é",
    "\0",
    "\ufeff",
    "\u00a0",
    "\u2028",
    "²",
    "٣",
    "\x1c",
    "\r",
    "\t",
    " ",
    "-",
    "+",
    ".",
    "e",
    ":",
    "%",
    "\n",
    "\n\n",
]


# ------------------------------------------------------------------------------------------------------ mutations


def flip(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def delete(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice([1, 1, 2, 5, 50]) :]


def double(rng, data):
    at = rng.randrange(len(data))
    end = at + rng.choice([1, 2, 5, 50])
    return data[:end] + data[at:]


def splice(rng, data):
    at, start = rng.randrange(len(data)), rng.randrange(len(data))
    return data[:at] + data[start : start + rng.choice([1, 3, 10, 100])] + data[at:]


def cut(rng, data):
    return data[: rng.randrange(len(data))]


def join(rng, data):
    return data + rng.choice([data, data[rng.randrange(len(data)) :], b"\0" * rng.randrange(1, 9), b"more"])


def insert(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(BITS).encode() + data[at:]


def garbage(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.choice([1, 2, 8])) + data[at + rng.choice([0, 1, 8]) :]


def digit(rng, data):
    places = [match.start() for match in re.finditer(rb"[0-9]", data)]
    if not places:
        return flip(rng, data)
    at = rng.choice(places)
    return data[:at] + rng.choice(b"0123456789").to_bytes() + data[at + 1 :]


def number(rng, data):
    places = list(re.finditer(rb"[0-9]+", data))
    if not places:
        return insert(rng, data)
    place = rng.choice(places)
    new = (
        str(rng.choice(NUMBERS)).encode()
        if rng.random() < 0.5
        else b"%d" % (int(place[0]) + rng.choice([-1, -1, 1, 2]))
    )
    return data[: place.start()] + new + data[place.end() :]


def lines(rng, data):
    parts = data.split(b"\n")
    i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
    what = rng.randrange(4)
    if what == 0:
        parts[i], parts[j] = parts[j], parts[i]
    elif what == 1:
        parts.insert(i, parts[j])
    elif what == 2:
        del parts[i]
    else:
        rng.shuffle(parts)
    return b"\n".join(parts)


# What changes numbers and whole lines is tried more often: it leaves the form of a file intact.
MUTATIONS = [flip, delete, double, splice, cut, join, insert, garbage, *[digit, number, number, lines] * 2]


def mutate(rng, data, most=3):
    for _ in range(min(most, rng.choice([1, 1, 1, 2, 3]))):
        if data:
            data = rng.choice(MUTATIONS)(rng, data)
    return data


# ---------------------------------------------------------------------------------------------------- valid files


def some_documents(rng):
    """(V, documents), each a list of (word id, count) in any order."""
    vocab_size = rng.randint(1, 9)
    documents = []
    for _ in range(rng.randint(1, 7)):
        words = rng.sample(range(vocab_size), rng.randint(0, vocab_size))
        documents.append([(word, rng.choice([1, 1, 2, 3, 12, 100])) for word in words])
    return vocab_size, documents


def styled(rng, rows, blank=True):
    """Lines as bytes, in one of the styles that a reader has to bear."""
    gap = rng.choice([" ", " ", "\t", "  "]) if blank else " "
    end = rng.choice(["\n", "\n", "\r\n"])
    text = end.join(gap.join(row) for row in rows) + rng.choice(["", end, end])
    return rng.choice([b"", b"", b"\xef\xbb\xbf"]) + text.encode()


def ldac_file(rng, vocab_size, documents):
    return styled(rng, [[str(len(cells)), *(f"{word}:{count}" for word, count in cells)] for cells in documents])


def cell_rows(rng, documents, style=str):
    rows = [[str(d + 1), str(word + 1), style(count)] for d, cells in enumerate(documents) for word, count in cells]
    if rng.random() < 0.3:
        rng.shuffle(rows)
    return rows


def uci_file(rng, vocab_size, documents):
    rows = cell_rows(rng, documents)
    return styled(rng, [[str(len(documents))], [str(vocab_size)], [str(len(rows))], *rows])


def matrix_market_file(rng, vocab_size, documents, swap=False):
    field = rng.choice(["integer", "real"])
    styles = [str] if field == "integer" else [str, "{:.1f}".format, "{:e}".format, "{:.16e}".format, "{:E}".format]
    rows = cell_rows(rng, documents, rng.choice(styles))
    sizes = [str(len(documents)), str(vocab_size), str(len(rows))]
    if swap:
        sizes[:2] = sizes[1::-1]
        rows = [[word, doc, count] for doc, word, count in rows]
    comments = rng.choice([[], [["%"]], [["% by", "hand"], [], ["%%"]]])
    return styled(rng, [["%%MatrixMarket", "matrix", "coordinate", field, "general"], *comments, sizes, *rows])


def vocabulary_file(rng, *_):
    words = rng.sample(["bank", "river", "né", "b c", "日本", "x\x85y", "ﬁsh", "a\0b", "loan", "'"], rng.randint(1, 9))
    return styled(rng, [[word] for word in words], blank=False)


def packed(rng, data):
    """The file, packed or not, and mutated before that or afterwards or both or not at all; and the end of its name."""
    how = rng.choice(["", "", "gz", "xz"])
    where = (
        rng.choice(["before", "before", "before", "after", "both", "nowhere"])
        if how
        else rng.choice(["before"] * 9 + [""])
    )
    if where in ("before", "both"):
        data = mutate(rng, data)
    if how == "gz":
        data = gzip.compress(data, 1, mtime=0)
    elif how == "xz":
        data = lzma.compress(data, preset=0, check=rng.choice([lzma.CHECK_CRC32, lzma.CHECK_CRC64]))
    if where in ("after", "both"):
        data = mutate(rng, data)
    suffix = f".{how}" if how and rng.random() < 0.5 else ".txt"
    return data, suffix


# ---------------------------------------------------------------------------------------------------------- cases
# A reader is a function from a random generator to a Case.


class Maybe(list):
    """An oracle's answer: the file may be refused, or be one of these; where there are none, anything."""


class Case(NamedTuple):
    data: bytes  # the file
    suffix: str  # of its name
    read: Callable  # from the path to what the library makes of the file
    says: Callable  # from bytes to what they say, in the same form, or Maybe
    original: object  # what they said before they were mutated


def plain(corpus):
    """A corpus as (words, tokens, bounds), with the promises that tests of readers look at."""
    assert not corpus.ordered and corpus.words.dtype == np.int32 and corpus.doc_start.dtype == np.int64
    assert not corpus.words.flags.writeable and not corpus.doc_start.flags.writeable
    return list(corpus.vocabulary), corpus.words, corpus.doc_start


def expanded(words, n_documents, documents):
    """The same from an oracle's answer."""
    if sum(sum(document.values()) for document in documents.values()) > LARGE:
        return Maybe()
    lengths = np.zeros(n_documents + 1, dtype=np.int64)
    tokens = [np.empty(0, dtype=np.int32)]
    for d in sorted(documents):
        lengths[d + 1] = sum(documents[d].values())
        tokens += [np.full(documents[d][word], word, dtype=np.int32) for word in sorted(documents[d])]
    return words, np.concatenate(tokens), np.cumsum(lengths)


def joined(stream):
    """All batches of a stream as one corpus."""
    batches = list(stream)
    assert all(len(batch) == stream.batch_size for batch in batches[:-1])
    assert stream.n_tokens == sum(batch.n_tokens for batch in batches) and stream.n_documents == sum(map(len, batches))
    starts = np.cumsum([0, *(batch.n_tokens for batch in batches)])
    bounds = [batch.doc_start[1:] + start for batch, start in zip(batches, starts, strict=False)]
    words = np.concatenate([batch.words for batch in batches])
    for batch in batches:
        assert batch.vocabulary is batches[0].vocabulary
        plain(batch)
    return list(stream.vocabulary), words, np.concatenate([[0], *bounds])


def counts_case(make, read, oracle, stream=False):
    """Cases of a text format."""

    def case(rng):
        vocab_size, documents = some_documents(rng)
        side = {}
        if make is matrix_market_file:
            side = {"swap": rng.random() < 0.3}
        valid = make(rng, vocab_size, documents, **side)
        data, suffix = packed(rng, valid)
        size = vocab_size if rng.random() < 0.5 or (stream and make is ldac_file) else None
        words = None if size is None else [f"w{v}" for v in range(size)]
        options = {"documents": "columns" if side["swap"] else "rows"} if side else {}
        if stream:
            options["batch_size"] = rng.choice([1, 2, 3, 100])

        def says(data):
            found, n_documents, cells = oracle(data, size, stream, **side)
            return expanded(words or [str(v) for v in range(found)], n_documents, cells)

        def call(path):
            found = read(path, vocabulary=words, **options)
            return joined(found) if stream else plain(found)

        _formats.BLOCK = rng.choice([16, 64, 2**20])
        try:
            original = says(valid)
        except Refused:  # all documents are empty, or it cannot be streamed
            original = None
        return Case(data, suffix, call, says, original)

    return case


def vocabulary_case(rng):
    valid = vocabulary_file(rng)
    data, suffix = packed(rng, valid)
    _formats.BLOCK = rng.choice([16, 2**20])
    return Case(
        data, suffix, lambda path: list(_formats.read_vocabulary(path)), oracles.vocabulary, oracles.vocabulary(valid)
    )


ODD = [-1, 0, 1, 2, 3.0, 40, 1.5, float("nan"), float("inf"), 2**31, 10**20, "a", None, True, (1, 2), [], 10**7, "1"]


def gensim_case(rng):
    vocab_size, bags = some_documents(rng)
    id2word = rng.choice([None, {v: f"w{v}" for v in range(vocab_size)}])

    def says(_):
        return expanded(*oracles.gensim(bags, id2word))

    try:
        original = says(None)
    except Refused:  # all documents are empty
        original = None
    for _ in range(rng.randint(0, 3)):
        d = rng.randrange(len(bags))
        what = rng.randrange(7)
        if what < 3 and bags[d] and isinstance(bags[d], list):
            i = rng.randrange(len(bags[d]))
            cell = list(bags[d][i]) if isinstance(bags[d][i], tuple) and bags[d][i] else [0, 0]
            cell[rng.choice([0, -1])] = rng.choice(ODD)
            bags[d][i] = rng.choice([tuple(cell)] * 5 + [(), tuple(cell[:1]), (*cell, 1), cell[0]])
        elif what == 3 and bags[d] and isinstance(bags[d], list):
            bags[d].append(rng.choice(bags[d]))
        elif what == 4 and id2word:
            id2word[rng.choice([*id2word, -1, 0, 1.5, "a", 10**7])] = rng.choice(["w0", "new", 7, None])
        elif what == 5 and id2word:
            del id2word[rng.choice(list(id2word))]
        elif what == 6:
            bags[d] = rng.choice([[], 7, None, "ab", [((0, 1), 1)], {0: 1}])
    return Case(b"", ".txt", lambda _: plain(Corpus.from_gensim(iter(bags), id2word)), says, original)


def saved_case(rng):
    vocab_size, documents = some_documents(rng)
    n = len(documents)
    corpus = Corpus(
        [word for cells in documents for word, count in cells for _ in range(count)],
        np.cumsum([0, *(sum(count for _, count in cells) for cells in documents)]),
        [f"wé{v}" for v in range(vocab_size)],
        labels=rng.choice([None, {"year": range(n), "who": ["Ada"] * n, "day": np.arange(n).astype("M8[D]")}]),
        names=rng.choice([None, [f"d{d}" for d in range(n)]]),
        ordered=rng.random() < 0.5,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "corpus")
        corpus.save(path)
        valid = data = path.read_bytes()
    what = rng.randrange(10)
    mmap = rng.random() < 0.5
    says = oracles.saved
    if what < 5:
        data = mutate(rng, data)
    elif what < 8:  # mutated with care: the arrays changed and the digest made to fit
        head = 128 + int(data[90:108])
        body = bytearray(data[128:])
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(head - 128, len(body))
            body[at] = rng.choice([0, 1, 2, 255, body[at] ^ (1 << rng.randrange(8))])
        data = sealed(bytes(body), head - 128)
    elif what < 9:  # the description changed: it need not fit, but must not confuse
        head = int(data[90:108])
        text = mutate(rng, data[128 : 128 + head].rstrip(b" "), most=2)
        text += b" " * (-len(text) % 64)
        data = sealed(text + data[128 + head :], len(text))
        says = lambda _: Maybe()  # noqa: E731

    def call(path):
        found = Corpus.load(path, mmap=mmap)
        labels = {name: (values.dtype.newbyteorder("<").str, values.tobytes()) for name, values in found.labels.items()}
        tokens = [found.words[a:b].tolist() for a, b in zip(found.doc_start, found.doc_start[1:], strict=False)]
        return list(found.vocabulary), tokens, found.names and list(found.names), found.ordered, labels

    _storage.CHUNK = rng.choice([16, 2**20])
    return Case(data, ".corpus", call, says, oracles.saved(valid))


def sealed(body, text_size):
    digest = hashlib.sha256(body).hexdigest()
    return f"bnptopics corpus 0000001 {digest} {text_size:018} {128 + len(body):018}\n".encode() + body


@functools.cache
def saved_models():
    """Files of two fitted models, and what a look at them shows."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_topics, seed in ((2, 0), (3, np.random.default_rng(1))):
            model = GibbsLDA(n_topics, n_sweeps=3, burn_in=1, thin=1, engine="reference", random_state=seed)
            model.fit([[3, 1, 0], [0, 0, 2], [1, 1, 1]]).save(Path(folder, "model"))
            found[Path(folder, "model").read_bytes()] = shown(model)
    return found


def shown(model):
    def flat(value):
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.tobytes()
        if isinstance(value, tuple | list):
            return type(value)(map(flat, value))
        return str(value.bit_generator.state) if isinstance(value, np.random.Generator) else value

    return type(model).__name__, {name: flat(value) for name, value in sorted(vars(model).items())}


def model_case(rng):
    models = saved_models()
    valid = data = rng.choice(list(models))

    def says(data):
        return models[data] if data in models else Maybe(models.values())  # two archives joined are the second one

    what = rng.randrange(10)
    if what < 7:
        data = mutate(rng, data)
    elif what < 9:  # a member mutated and packed again, with the right checksum: it need not fit, but must not confuse
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(["json.npy"] * 4 + sorted(members))
        members[name] = mutate_json(rng, members[name]) if name == "json.npy" else mutate(rng, members[name])
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        data = file.getvalue()
        says = lambda _: Maybe()  # noqa: E731
    return Case(data, ".npz", lambda path: shown(bnptopics.load(path)), says, models[valid])


def mutate_json(rng, member):
    """Change the JSON text that `base.save` keeps as an array of one str."""
    record = json.loads(str(np.load(io.BytesIO(member))))
    for _ in range(rng.randint(1, 2)):
        place = record
        while isinstance(place, dict) and place:
            key = rng.choice(list(place))
            if rng.random() < 0.4 or not isinstance(place[key], dict) or not place[key]:
                if rng.random() < 0.3:
                    del place[key]
                else:
                    new = [None, 7, -1.5, "x", [], {}, {"array": "x"}, {"param": "n_topics"}, {"tuple": 3}, {"x": 1}]
                    place[key] = rng.choice(new)
                break
            place = place[key]
    file = io.BytesIO()
    np.save(file, np.array(json.dumps(record)))
    return file.getvalue()


READERS = {
    "from_ldac": counts_case(ldac_file, Corpus.from_ldac, oracles.ldac),
    "from_uci": counts_case(uci_file, Corpus.from_uci, oracles.uci),
    "from_matrix_market": counts_case(matrix_market_file, Corpus.from_matrix_market, oracles.matrix_market),
    "vocabulary": vocabulary_case,
    "from_gensim": gensim_case,
    "Corpus.load": saved_case,
    "stream ldac": counts_case(ldac_file, CorpusStream.from_ldac, oracles.ldac, stream=True),
    "stream uci": counts_case(uci_file, CorpusStream.from_uci, oracles.uci, stream=True),
    "stream matrix_market": counts_case(
        matrix_market_file, CorpusStream.from_matrix_market, oracles.matrix_market, stream=True
    ),
    "bnptopics.load": model_case,
}


# --------------------------------------------------------------------------------------------------------- running


class Hang(BaseException):
    """A case took too long."""


@contextlib.contextmanager
def time_limit():
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def ring(*_):
        raise Hang

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def same(a, b):
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


def run_case(reader, number, folder):
    """Run one case; return "refused", "changed", "unchanged" or "FAILED", and in words what happened."""
    case = READERS[reader](random.Random(f"{reader} {number}"))
    path = Path(folder, f"case{case.suffix}")
    path.write_bytes(case.data)
    try:
        expected = case.says(case.data)
        if case.suffix in (".gz", ".xz"):  # a name that promises a packing must keep it
            oracles.need(case.data[:2] == b"\x1f\x8b" or case.data[:6] == b"\xfd7zXZ\0", "not packed")
    except Refused:
        expected = Refused
    try:
        with time_limit():
            found = case.read(path)
    except Hang:
        return "FAILED", f"took more than {SECONDS} seconds"
    except Exception as error:
        asked = re.search(f"^{re.escape(str(path))}: no memory for ([0-9]+) tokens; the largest count is", str(error))
        if isinstance(error, MemoryError) and asked and int(asked[1]) > LARGE:
            return "refused", str(error)
        if reader != "from_gensim" and not (isinstance(error, ValueError) and str(path) in str(error)):
            return "FAILED", f"refused, but not in words that name the file: {traceback.format_exc(-2)}"
        if reader == "from_gensim" and not isinstance(error, ValueError | TypeError):
            return "FAILED", traceback.format_exc()
        if expected is not Refused and not isinstance(expected, Maybe):
            return "FAILED", f"refused what is well-formed: {error}"
        return "refused", str(error)
    if expected is Refused:
        return "FAILED", f"accepted what is not well-formed, as {str(found)[:300]}"
    if not (
        any(same(found, one) for one in expected or [found]) if isinstance(expected, Maybe) else same(found, expected)
    ):
        return "FAILED", f"read {str(found)[:300]} where the file says {str(expected)[:300]}"
    return ("unchanged" if same(found, case.original) else "changed"), "accepted"


def work(readers, share, start):
    """Run cases from number `start` on, counted through all readers, in this process. The number of each is printed to
    stderr as it begins, and to stdout one line of JSON when it has ended."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        for at in range(start, share * len(readers)):
            print(at, file=sys.stderr, flush=True)
            reader, number = readers[at // share], at % share
            outcome, why = run_case(reader, number, folder)
            print(json.dumps([reader, number, outcome, why if outcome == "FAILED" else ""]), flush=True)


def supervise(readers, share):
    """Run all cases in a process of its own, and go on behind a case in which it crashes. Yields what `work` prints."""
    start = 0
    while start < share * len(readers):
        command = [sys.executable, __file__, "--work", str(share), str(start), *readers]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        yield from map(json.loads, done.stdout.splitlines())
        *_, last = [start, *(int(line) for line in done.stderr.splitlines() if line.isdecimal())]
        if done.returncode:
            said = "\n".join(line for line in done.stderr.splitlines() if not line.isdecimal())
            yield readers[last // share], last % share, "FAILED", f"crashed with {done.returncode}: {said}"
        start = last + 1


def main():
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[4:], *map(int, sys.argv[2:4]))
        return 0
    parser = argparse.ArgumentParser(description="Feed the readers mutated files.")
    parser.add_argument("files", nargs="?", type=int, default=100_000, help="how many, over all readers")
    parser.add_argument("--reader", choices=READERS)
    parser.add_argument("--case", type=int, help="run this one and show it")
    options = parser.parse_args()
    if options.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(READERS[options.reader](random.Random(f"{options.reader} {options.case}")).data)
            print(*run_case(options.reader, options.case, folder), sep=": ")
        return 0
    readers = [options.reader] if options.reader else list(READERS)
    share = -(-options.files // len(readers))
    counts, failures = {reader: Counter() for reader in readers}, []
    for reader, number, outcome, why in supervise(readers, share):
        counts[reader][outcome] += 1
        if outcome == "FAILED":
            failures.append(f"--reader '{reader}' --case {number}: {why}")
    print(
        f"{'reader':<22}{'files':>8}{'refused':>9}{'accepted':>10}{'of these as before the mutation':>33}{'failed':>8}"
    )
    for reader in readers:
        row(reader, counts[reader])
    row("all", sum(counts.values(), Counter()))
    print("", *failures[:20], sep="\n\n" if failures else "")
    return 1 if failures else 0


def row(reader, counts):
    accepted = counts["changed"] + counts["unchanged"]
    columns = f"{counts.total():>8}{counts['refused']:>9}{accepted:>10}{counts['unchanged']:>33}{counts['FAILED']:>8}"
    print(f"{reader:<22}{columns}")


if __name__ == "__main__":
    sys.exit(main())
