"""Settings, order and fixtures of all tests. These are the rules for writing one:

* Mark a test that takes more than five seconds as `slow`, and give `slow(60)` the seconds that the slow tests of its
  file take together: the longest files start first. `pyproject.toml` lists the other markers.
* Tests run in parallel and in any order. Write to `tmp_path`, use port 0, and set variables with `monkeypatch`.
* Wait for an event, not for a time. Inject the clock, and set timeouts that only a hang can reach.
* Run commands with `support.bench.bench_in`: it forks a process that has imported Trialbed, which saves two seconds of
  CPU per command. Only a test of the start itself starts the real program (`support.warm` has both).
* Frameworks' environments come from `framework_environment`, built wheels from `wheels`, installations from
  `bare_installation` and `new_installation`. They are built once, in `.tox`, and shared: change none of them.
* `postgres_url` is an empty database. Tests with it are skipped if PostgreSQL is not installed, and tests on
  StableToolBench's data unless `TRIALBED_TEST_DATA` names a folder with a copy in `stabletoolbench/`.
* `support.cases.for_each` runs all cases of one property in one test and names those that fail.
* Hypothesis takes a new seed for each run if `CI` is set. The header shows it; `--hypothesis-seed=N` repeats the run.
  `@settings(max_examples=examples(2))` asks for twice the usual number of examples.
* Tests that run pytest load only the plugins that they name (`PYTEST_DISABLE_PLUGIN_AUTOLOAD`).
"""

from __future__ import annotations

import gc
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from support.constants import read_constants_in_turn
from support.garbage import end_without_search, leave_out_what_stays, search_seldom
from support.metadata import read_metadata_once
from support.parts import is_left_out, parse_part
from support.rewritten import rewrite_in_turn
from support.trust import read_no_certificates

pytest_plugins = ["support.once", "support.distributions", "support.frameworks", "support.postgres"]

ROOT = Path(__file__).parent.parent
ORDER = ("unit", "docs", "adapters", "functional", "packaging", "suites")
"""Folders of tests, the cheapest first: a mistake shows early."""
SLOW = ("packaging", "matrix")
"""Markers of tests that are slow too."""

# Tests start hundreds of programs; without bytecode each of them compiles Trialbed and its dependencies anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Of a framework's hundred packages its tests import a part, and compile that.
os.environ.setdefault("UV_COMPILE_BYTECODE", "0")

# Tests run beside one another: threads of linear algebra that wait for a processor take many times what they compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

read_no_certificates()
read_metadata_once()

# Simulated endpoints answer by scripts, in which a run's first look at its endpoint has no line.
os.environ.setdefault("TRIALBED_PROBE", "0")

# A shell starts background jobs with SIGINT ignored, and every program that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast a machine is decides about no test. Failures are printed so that they can be had again.
_ANY_MACHINE = hypothesis.settings(
    deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("dev", _ANY_MACHINE, max_examples=20)
hypothesis.settings.register_profile("ci", _ANY_MACHINE, max_examples=20, database=None)
# For what is tried on many examples elsewhere, and here only on another Python.
hypothesis.settings.register_profile("few", _ANY_MACHINE, max_examples=8, database=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what is for runs that divide the work among them."""
    help_text = "of the files below each folder of tests/unit, take the K-th of N parts, at least one"
    parser.addoption("--part", metavar="K/N", type=parse_part, default=(1, 1), help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    """Choose Hypothesis' profile, and in CI a new seed for each run, which all workers share."""
    # Until all tests are found nothing is freed: to look for it takes a fifth of the time, in each worker.
    gc.disable()
    hypothesis.settings.load_profile(PROFILE)
    if PROFILE != "dev" and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(secrets.randbits(32))


def pytest_report_header(config: pytest.Config) -> str:
    """Say how the run can be had again."""
    seed = config.getoption("--hypothesis-seed")
    return f"hypothesis: profile {PROFILE}" + (f", --hypothesis-seed={seed}" if seed is not None else "")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where workers are given whole files, give them suites one by one."""
    if config.getoption("dist") != "loadfile":
        return None
    from support.scheduling import SuitesAlone

    return SuitesAlone(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file that is in other parts of the tests."""
    number, parts = config.getoption("--part")
    if parts == 1 or not collection_path.match("test_*.py"):
        return None
    room = ROOT.joinpath(*collection_path.relative_to(ROOT).parts[:3])
    return is_left_out(collection_path, room, number, parts) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Share out the work of compiling the tests."""
    rewrite_in_turn(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the cheapest first, but of slow ones the longest, and mark as slow what another marker says is slow."""
    read_constants_in_turn(config)
    ranks = {path: _rank(path) for path in {item.path for item in items}}
    places = {}
    for item in items:
        seconds = [max(mark.args, default=0) for mark in item.iter_markers() if mark.name in ("slow", *SLOW)]
        if seconds and not item.get_closest_marker("slow"):
            item.add_marker("slow")
        # Of slow tests the longest come first: short ones fill the time that is left when workers share out the rest.
        places[item] = (bool(seconds), -max(seconds, default=0), ranks[item.path])
    items.sort(key=places.__getitem__)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the thousands of tests, and stores begin as copies."""
    search_seldom()
    if "trialbed.store" in sys.modules:
        from support.empty_stores import copy_empty_stores

        copy_empty_stores()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Search for garbage once, for what says too late that it was not closed: pytest does so five times."""
    leave_out_what_stays()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let a worker end when its work has."""
    if hasattr(config, "workerinput"):
        end_without_search()


def _rank(path: Path) -> int:
    parts = path.relative_to(ROOT).parts
    folder = parts[1] if parts[0] == "tests" else parts[0]
    return ORDER.index(folder) if folder in ORDER else len(ORDER)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show how suites ended that ran in other environments."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    lines = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == "suite"]
    if lines:
        terminalreporter.section("suites in other environments")
        for line in sorted(set(lines)):
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def stabletoolbench_dir() -> Path:
    """A folder with StableToolBench's data; tests that need it skip where it is absent."""
    data = Path(os.environ.get("TRIALBED_TEST_DATA", ROOT.parent / "shared" / "data"))
    folder = data / "stabletoolbench"
    if not folder.is_dir():
        pytest.skip(f"StableToolBench's data is not at {folder}; set TRIALBED_TEST_DATA to the folder that holds it")
    return folder
