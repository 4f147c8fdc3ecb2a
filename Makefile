# Two commands for a fresh machine (Python 3.11+ with pip and venv): `make demo` and `make test`.
# Everything is installed into .venv here; the system's Python is only asked to create it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# setuptools warns about every editable install, whatever the project: a newcomer need not read that.
INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet
SOURCES := setup.py setup.cfg pyproject.toml adapters/langgraph/pyproject.toml adapters/vendors/pyproject.toml

.PHONY: demo test check docs adapters clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/bench run --framework reference --framework langgraph

test: $(VENV)/.test
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy -p trialbed_langgraph
	$(BIN)/mypy -p trialbed_vendors
	$(BIN)/mypy -p trialbed_new_framework

# The documentation as a site with search, in build/site.
docs: $(VENV)/.test
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --quiet

# Each framework's adapter in an environment of its own, at today's newest releases.
adapters: $(VENV)/.dev
	$(BIN)/python -m tox run-parallel -m latest -p 2

clean:
	rm -rf $(VENV) .tox build dist *.egg-info adapters/*/build adapters/*/*.egg-info

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip

$(VENV)/.demo: $(BIN)/python $(SOURCES)
	$(INSTALL) -e . -e adapters/langgraph
	touch $@

$(VENV)/.test: $(VENV)/.demo
	$(INSTALL) -e '.[test]' -e adapters/vendors
	touch $@

$(VENV)/.dev: $(VENV)/.test
	$(INSTALL) -e '.[test,dev]'
	touch $@
