# `make` alone prints what there is. Needs GNU make 3.81, git and Python 3.11 or later; all else is installed into .venv.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help book test test-slow test-peers fuzz lab voila bench references lint ledger lock clean distclean

# A Python to build the environments with, when the first that works is not the wanted one: make PYTHON=/path/to/python3.13
PYTHON ?=
# A course of one's own: make book TOC=course.yml BOOK_FLAGS=--all (references to chapters left out are warnings), and
# make book SOLUTIONS=hidden for a book without solutions (book/_ext/bnptopics_book/solutions.py).
TOC ?= _toc.yml
BOOK_FLAGS ?= -W -n --keep-going --all
SOLUTIONS ?=
export SOLUTIONS
# Options of JupyterLab: make lab LAB_FLAGS="--no-browser --port 8890"
LAB_FLAGS ?=
# Tests run side by side, a file of tests in one process: make test WORKERS= for one after the other
WORKERS ?= -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# How many files `make fuzz` makes: make fuzz FILES=1000000
FILES ?= 100000
# Which lab Voilà serves, and options for it: make voila LAB=lda_gibbs VOILA_FLAGS="--no-browser --port 8890"
LAB ?= lda_gibbs
VOILA_FLAGS ?=
# Only `make lock` needs uv. make lock UPGRADE=--upgrade also moves what is locked already.
UV ?= uv
UPGRADE ?=

# What would lead a Python of .venv to somebody else's packages, pip out of .venv, or assert statements to be skipped.
unexport PYTHONPATH PYTHONHOME PYTHONOPTIMIZE PIP_USER PIP_TARGET PIP_PREFIX JUPYTER_PATH
# A kernel called python3 in the home folder must not take the place of the one in .venv.
export JUPYTER_PREFER_ENV_PATH = 1

# $(call cached,.venv): before a command, gives numba a cache of its own for these very sources (see tests/fingerprint.py).
cached = NUMBA_CACHE_DIR="$$($(1)/bin/python tests/fingerprint.py numba)" && export NUMBA_CACHE_DIR &&

help:
	@echo 'make book       build the book into _build/html, running every page'
	@echo 'make test       run the tests (those in a browser are skipped without a built book and Chromium)'
	@echo 'make test-slow  run the statistical tests'
	@echo 'make test-peers run the tests beside other libraries, in the environment of the benchmark'
	@echo 'make fuzz       feed the readers of files 100,000 damaged ones, and say what became of them'
	@echo 'make lab        open JupyterLab here, for the labs in notebooks/ and the chapters in book/'
	@echo 'make voila      serve the widgets of a lab as a page, with a kernel behind it (LAB=lda_gibbs)'
	@echo 'make bench      measure speed against other libraries, into book/results/bench.json'
	@echo 'make references compute the exact references in tests/references anew'
	@echo 'make lint       check the code with ruff'
	@echo 'make lock       write the lock files anew from pyproject.toml (needs uv)'
	@echo 'make clean      remove what was built and cached; make distclean removes the environments too'

book: ledger
	@rm -rf _build/html
	@$(call cached,.venv) .venv/bin/jupyter-book build --toc $(TOC) $(BOOK_FLAGS) .
	@echo
	@echo 'The book is built: open _build/html/index.html'

test: .venv/.ready
	@$(call cached,.venv) .venv/bin/python -m pytest $(WORKERS)

test-slow: .venv/.ready
	@$(call cached,.venv) .venv/bin/python -m pytest $(WORKERS) -m slow

# Only the files with such tests: others import what that environment has not.
test-peers: .venv-bench/.ready
	@$(call cached,.venv-bench) .venv-bench/bin/python -m pytest -m peers -p no:cacheprovider \
		$$(grep -rl --include='test_*.py' 'mark\.peers' tests)

fuzz: .venv/.ready
	@.venv/bin/python tests/fuzz/fuzz_readers.py $(FILES)

lab: .venv/.ready
	@$(call cached,.venv) PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/python -m jupyterlab $(LAB_FLAGS)

# The folder of Voilà's settings also holds its template, which asks no other host.
voila: .venv/.ready
	@$(call cached,.venv) JUPYTER_PATH="$(CURDIR)/book/_voila" PATH="$(CURDIR)/.venv/bin:$$PATH" \
		.venv/bin/python -m voila --Voila.config_file_paths=book/_voila $(VOILA_FLAGS) notebooks/$(LAB).ipynb

bench: .venv-bench/.ready
	@for name in lda_gibbs lda_variational nmf heldout coherence hdp; do \
		$(call cached,.venv-bench) .venv-bench/bin/python tests/bench/bench_$$name.py \
			--output book/results/bench.json || exit 1; \
	done
	@$(call cached,.venv-bench) .venv-bench/bin/python tests/bench/bench_lda_online.py

references: .venv/.ready
	@.venv/bin/python tests/references/make.py

lint: .venv/.ready
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .

# What the book says about checks comes from the ledger, which a whole run of the tests writes (tests/conftest.py). It is
# made again when library or tests have changed since, or when a test failed.
ledger: .venv/.ready
	@.venv/bin/python tests/fingerprint.py ledger || { \
		echo 'The ledger of checks is missing or out of date: running the tests first.'; \
		$(call cached,.venv) .venv/bin/python -m pytest $(WORKERS) \
			-m 'not slow and not browser and not peers'; }

lock:
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: pipx install uv, or make lock UV=/path/to/uv' >&2; exit 1; }
	@echo 'setuptools>=77' | $(UV) pip compile --quiet $(UPGRADE) --universal --generate-hashes --python-version 3.11 \
		--extra book --extra test --custom-compile-command 'make lock' pyproject.toml - -o requirements.lock
	@echo 'setuptools>=77' | $(UV) pip compile --quiet $(UPGRADE) --universal --generate-hashes --python-version 3.11 \
		--extra bench --constraint requirements.lock --custom-compile-command 'make lock' pyproject.toml - \
		-o tests/bench/requirements.lock

clean:
	rm -rf _build .cache .pytest_cache .ruff_cache .hypothesis build lib/*.egg-info
	@find lib tests book notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv .venv-bench

# --- The environments -------------------------------------------------------------------------------------------------
# .locked: the packages of the lock file are there; written last, and it holds the place of the checkout. .ready: so is the
# library. pip takes a half-installed package for a whole one, so whenever .locked is old or missing (an interrupted
# installation), holds another place (a copied checkout, whose scripts point to the old one), or Python itself has gone,
# the environment is made from nothing.

place := $(shell pwd -P)
placed = $(shell test -x $(1)/bin/python && cat $(1)/.locked 2>/dev/null)
ifneq ($(call placed,.venv),$(place))
.PHONY: .venv/.locked
endif
ifneq ($(call placed,.venv-bench),$(place))
.PHONY: .venv-bench/.locked
endif

# Debian splits ensurepip off, and a shim of pyenv may be on the PATH with nothing behind it: each candidate is tried, and
# says where it lies. Inside an activated .venv that is the Python below it, since .venv itself is about to go.
probe = import sys; sys.version_info >= (3, 11) or sys.exit("is Python %d.%d" % sys.version_info[:2]); \
	import ensurepip, venv; print(sys._base_executable)

# $(call environment,folder,lock file)
define environment
@set -e; tried=; found=; \
for python in $(if $(PYTHON),"$(PYTHON)",python3.14 python3.13 python3.12 python3.11 python3 python); do \
	command -v "$$python" >/dev/null 2>&1 || { tried="$$tried  $$python: not found|"; continue; }; \
	if said=$$("$$python" -c '$(probe)' 2>&1); then found=$$(printf '%s\n' "$$said" | tail -n 1); break; fi; \
	tried="$$tried  $$python: $$(printf '%s\n' "$$said" | sed '/^ *$$/d' | tail -n 1)|"; \
done; \
if test -z "$$found"; then \
	{ echo 'No Python here can make an environment. It must be 3.11 or later and have the modules venv and ensurepip:'; \
	  printf '%s' "$$tried" | tr '|' '\n'; \
	  echo 'Debian, Ubuntu: apt install python3 python3-venv.  Fedora: dnf install python3.  macOS: brew install python.'; \
	  echo 'Or name one: make PYTHON=/path/to/python3'; } >&2; exit 1; \
fi; \
echo "Installing $(2) into $(1) with $$("$$found" --version), $$found. This takes a minute or more ..."; \
rm -rf $(1); \
"$$found" -m venv $(1); \
$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(2) || { \
	echo 'Installing $(2) failed, for the reason above. Once it is mended (is the network there?), run make again.' >&2; exit 1; }; \
pwd -P >$(1)/.locked
endef

# $(call library,folder): without build isolation, which would fetch an unlocked setuptools; the lock has one.
define library
@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endef

.venv/.locked: requirements.lock
	$(call environment,.venv,$<)

.venv-bench/.locked: tests/bench/requirements.lock
	$(call environment,.venv-bench,$<)

# What was checked in another environment is not checked in this one, so the ledger goes.
.venv/.ready: .venv/.locked pyproject.toml
	$(call library,.venv)
	@rm -f _build/ledger.json
	@touch $@

.venv-bench/.ready: .venv-bench/.locked pyproject.toml
	$(call library,.venv-bench)
	@touch $@
