# Commands for a fresh machine (Python 3.11+ with pip and venv). Everything is installed into .venv here, by uv;
# the system's Python is only asked to create it.
PYTHON ?= python3
# How many tests run at once: a number, or `logical` for as many as there are processors.
JOBS ?= logical
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal
SOURCES := setup.py setup.cfg pyproject.toml adapters/langgraph/pyproject.toml adapters/vendors/pyproject.toml

# Without bytecode, every program that is started would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test test-slow adapters pythons check docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/bench run --framework reference --framework langgraph

quick: $(VENV)/.test
	$(PYTEST) tests/unit

test: $(VENV)/.test
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.dev
	$(PYTEST) -m "slow and not matrix"

# The documentation as a site with search, in build/site.
docs: $(VENV)/.test
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --quiet

# Parts of test-slow: each adapter beside its framework at today's newest releases; unit tests on all Pythons.
adapters: $(VENV)/.dev
	$(PYTEST) tests/suites/test_adapters.py

pythons: $(VENV)/.dev
	$(PYTEST) tests/suites/test_pythons.py

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .tox build dist *.egg-info adapters/*/build adapters/*/*.egg-info

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.6,<1'

$(VENV)/.demo: $(BIN)/uv $(SOURCES)
	$(INSTALL) -e . -e adapters/langgraph
	touch $@

$(VENV)/.test: $(VENV)/.demo
	$(INSTALL) -e '.[test]' -e adapters/vendors
	touch $@

$(VENV)/.dev: $(VENV)/.test
	$(INSTALL) -e '.[test,dev]'
	touch $@
