# Everything happens in a virtual environment of its own; nothing outside this folder is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test test-types test-plain test-oldest bench campaign docs coverage release format clean

demo: $(VENV)/.installed
	$(BIN)/lacunary demo

# Many processes are started: each would compile all modules again if what is compiled were not kept.
test: export PYTHONDONTWRITEBYTECODE =
# Two of them have a core each: threads of matrix products would only wait for each other.
test test-oldest coverage: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory -j 2 test-types test-plain
	$(BIN)/pytest -n 2 --dist worksteal --durations=8

test-types: $(VENV)/.installed-test
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

# On one core, while types are checked on both: kernels as Python runs them, and those that all tests need, compiled once.
test-plain: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest tests/kernels/test_plain.py tests/kernels/test_swept.py tests/kernels/test_gaussian.py
	$(BIN)/lacunary fit house_votes --hidden bloc=2 --starts 2 > /dev/null

# The lowest versions that pyproject.toml allows, all of them in one environment.
test-oldest: $(OLDEST)/.installed
	PYTHONPATH=$(CURDIR)/src $(OLDEST)/bin/python -m pytest -n 2

$(OLDEST)/.installed: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) -m tests.house.lowest > $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python -m pip install --quiet --requirement $(OLDEST)/lowest.txt
	touch $@

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

# Long seeded runs against oracles, with faults and mutants: minutes; CAMPAIGN=--long makes it hours.
campaign: $(VENV)/.installed-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.campaign $(CAMPAIGN)

# The manual, into docs/_build/html: nothing is fetched to build it, and it fetches nothing when it is read.
docs: $(VENV)/.installed-docs
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/_ext/local.py docs/_build/html

# Which lines the tests run, as a table and as pages in coverage/; compiled kernels are not counted.
coverage: $(VENV)/.installed-test $(VENV)/.installed-coverage
	$(BIN)/pytest -n 2 --cov --cov-report=term --cov-report=html:coverage

# Builds, checks and tries what would be published; HOME_URL is the project's public address, if it has one.
release: $(VENV)/.installed-release
	LACUNARY_HOME_URL=$(HOME_URL) $(BIN)/python -m tests.house.release

format: $(VENV)/.installed-test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(OLDEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/_build docs/examples coverage dist
	rm -f docs/reference/*.rst

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lacunary needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[$*]'
	$(BIN)/python -m compileall -qq -j 2 -x '/tests?/' $(VENV)/lib || true
	touch $@ $(VENV)/.installed
