"""What an import costs, and what it does without: numba does not run in a browser, the readable twins do."""

import json
import subprocess
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1] / "lib" / "bnptopics"


def run(program: str) -> object:
    """Run a program in a new interpreter and return what it prints, read as JSON."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_is_light_and_quick():
    program = """
import json, sys, time
begin = time.perf_counter()
import bnptopics
seconds = time.perf_counter() - begin
heavy = {"numba", "sklearn", "matplotlib", "scipy.stats", "hypothesis", "ipywidgets", "tqdm", "pandas"}
print(json.dumps([sorted(heavy & set(sys.modules)), seconds]))
"""
    runs = [run(program) for _ in range(3)]
    assert runs[0][0] == []
    assert min(seconds for _, seconds in runs) <= 0.5


def test_readable_part_needs_numpy_and_scipy_only():
    readable = ["bnptopics", "bnptopics.corpus", "bnptopics.datasets"]
    readable += [
        ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts)
        for pattern in ("models/*.py", "*/reference.py")
        for path in sorted(LIBRARY.glob(pattern))
    ]
    program = f"""
import importlib, json, sys
absent = {{"numba", "llvmlite", "matplotlib", "ipywidgets", "hypothesis", "sklearn", "joblib", "pandas", "tqdm"}}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {{name!r}}: it is absent in this test", name=name)

sys.meta_path.insert(0, Absent())
failed = {{}}
for name in {readable!r}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed[name] = str(error)
try:
    import numba
    failed["numba"] = "is not absent"
except ModuleNotFoundError:
    pass
import bnptopics
bnptopics.Corpus, bnptopics.datasets
print(json.dumps(failed))
"""
    assert run(program) == {}
