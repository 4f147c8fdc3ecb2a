"""The pytest plugin, with the fixture and marker ``trialbed`` and the options of a test run.

Every pytest run loads it if Trialbed is installed, so it imports nothing before first use.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trialbed_testing._single import TrialSuite
    from trialbed_testing._trial import ObservedTrial
    from trialbed_testing._trials import AgentTrials

__all__ = ["trialbed"]

FOLDER = "trialbed"
"""The folder for failed trials in pytest's cache."""

MOST_KEPT = 200
"""Failed trials that are kept, the latest ones."""

RECORDINGS, SNAPSHOTS = "recordings", "snapshots"
"""The folders of recordings and snapshots, next to the test file."""

NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")

RAN = pytest.StashKey[Any]()
"""The value of the fixture in a test, for the report of its failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("trialbed-agents", "tests of agents with Trialbed")
    group.addoption("--trialbed-model", metavar="MODEL", help="model for tests that name none (default: scripted:gold)")
    group.addoption(
        "--trialbed-record", action="store_true", help="ask real models, and keep their answers next to the tests"
    )
    group.addoption("--trialbed-live", action="store_true", help="ask real models even if there is no recording")
    group.addoption(
        "--trialbed-update", action="store_true", help="write the snapshots of calls and answers next to the tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "trialbed(models=[…], faults=[…]): run the test once for each model, and for each fault or plan of faults",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each model and each fault of its marker."""
    marker = metafunc.definition.get_closest_marker("trialbed")
    if marker is None or "trialbed" not in metafunc.fixturenames:
        return
    models = [(model, None) for model in marker.kwargs.get("models", ())]
    faults = [(None, fault) for fault in marker.kwargs.get("faults", ())]
    cases = models + faults
    if cases:
        metafunc.parametrize("trialbed", cases, ids=[_case_name(*case) for case in cases], indirect=True)


@pytest.fixture(scope="session")
def _trialbed_suite() -> Iterator[TrialSuite]:
    from trialbed_testing._single import open_suite

    with open_suite() as suite:
        yield suite


@pytest.fixture
def trialbed(request: pytest.FixtureRequest, _trialbed_suite: TrialSuite) -> AgentTrials:
    """Run agents on tasks; ``trialbed.run(agent, "…", tools=[…])`` returns a trial to make assertions on."""
    from trialbed_testing._trials import DEFAULT, AgentTrials, TestRun

    model, faults = getattr(request, "param", (None, None))
    option = request.config.getoption
    name = _file_name(f"{request.path.stem}::{request.node.nodeid.partition('::')[2]}")
    test = TestRun(
        folder=_folder(request.config),
        recording=request.path.parent / RECORDINGS / name,
        snapshot=request.path.parent / SNAPSHOTS / name,
        model=model or option("--trialbed-model") or DEFAULT,
        record=option("--trialbed-record"),
        live=option("--trialbed-live"),
        update=option("--trialbed-update"),
        faults=faults,
    )
    trials = AgentTrials(_trialbed_suite, test)
    request.node.stash[RAN] = trials
    return trials


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Show how a trial differs from its snapshot."""
    if "trialbed_testing._snapshots" not in sys.modules:
        return None
    from trialbed_testing._snapshots import explain

    return explain(op, left, right)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Show the trials of a failed test, and keep them."""
    outcome = yield
    report = outcome.get_result()
    ran: AgentTrials | None = item.stash.get(RAN, None)
    if report.when != "call" or not report.failed or ran is None:
        return
    for number, trial in enumerate(ran.trials, 1):
        title = f"trial {number} of {len(ran.trials)}" if len(ran.trials) > 1 else "trial"
        kept = _keep_trial(item, trial, number)
        report.sections.append((title, f"{_timeline(trial)}\n\n{kept}"))


def _keep_trial(item: pytest.Item, trial: ObservedTrial, number: int) -> str:
    """Keep a trial as a page and in a store. Returns a text with both places."""
    from trialbed.files import replace_file
    from trialbed.store import open_run
    from trialbed_pages.report import run_report

    folder = _folder(item.config)
    store = folder / "failed.db"
    page = folder / f"{_file_name(item.nodeid)}-{number}.html"
    run = trial.single.run.run_id
    try:
        trial.single.keep(store)
        replace_file(page, run_report(open_run(run, str(store))).encode())
        _forget(folder, store)
    except Exception as error:  # noqa: BLE001 - the test has its own failure to report
        return f"the trial could not be kept: {error}"
    return f"page: {page}\nbench show {run} --store {store}"


def _forget(folder: Path, store: Path) -> None:
    """Remove all but the latest failed trials, with their pages and tasks."""
    from trialbed.errors import DataError
    from trialbed.store import Store, open_store

    with open_store(str(store)) as reader:
        old = [run.run_id for run in reader.runs()[MOST_KEPT:]]
    with Store.open(str(store)) as opened:
        for run in old:
            with suppress(DataError):  # another worker of the same tests was first
                opened.discard_run(run)
    with suppress(FileNotFoundError):  # another worker was first
        for pattern in ("*.html", "tasks/*.json"):
            for file in sorted(folder.glob(pattern), key=lambda file: file.stat().st_mtime)[:-MOST_KEPT]:
                file.unlink()


def _timeline(trial: ObservedTrial) -> str:
    try:
        return trial.timeline()
    except Exception as error:  # noqa: BLE001 - the test has its own failure to report
        return f"the trial cannot be shown: {error}"


def _file_name(text: str) -> str:
    """Return a file name that is unique to the text."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{NO_NAME.sub('-', text)[:80].strip('-')}-{digest}"


def _folder(config: pytest.Config) -> Path:
    cache = getattr(config, "cache", None)
    if cache is not None:
        return Path(cache.mkdir(FOLDER))
    return config.rootpath / ".trialbed"


def _case_name(model: Any, faults: Any) -> str:
    if model is not None:
        return model if isinstance(model, str) else str(getattr(model, "__name__", type(model).__name__))
    if not isinstance(faults, dict):
        return str(faults)
    parts = [[name, *part.get("faults", ())] for name, part in faults.items() if isinstance(part, dict)]
    return "-".join(word for words in parts for word in words) or "faults"
