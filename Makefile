# Everything happens in a virtual environment of its own; nothing outside this folder is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test test-oldest bench campaign format clean

demo: $(VENV)/.installed
	$(BIN)/lacunary demo

test: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --durations=8
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest tests/kernels/test_plain.py tests/kernels/test_swept.py tests/kernels/test_gaussian.py

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
	$(BIN)/python -W ignore -m tests.campaign $(CAMPAIGN)

format: $(VENV)/.installed-test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(OLDEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lacunary needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@ $(VENV)/.installed
