"""``bench adapter check --fuzz``: a breach is found, made short, and printed as a test that fails for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import Bench, own_environment
from support.warm import run_warm

pytestmark = pytest.mark.slow(20)

NewAdapter = Callable[..., Path]

FORGETS = (
    "self._model.complete(messages, ",
    "self._model.complete(messages if len(messages) < 9 else [*messages[:2], *messages[-6:]], ",
)
"""Only the last messages of a long conversation are sent."""


def test_a_breach_is_printed_as_a_test_that_fails_for_it(bench: Bench, new_adapter: NewAdapter, tmp_path: Path) -> None:
    loop = new_adapter("acme", _loop=FORGETS) / "_loop.py"
    site = tmp_path / "site"
    (entry_points,) = site.rglob("entry_points.txt")
    entry_points.write_text(entry_points.read_text().replace("acme =", "acme:controlled ="))

    done = bench("adapter", "check", "acme", "--fuzz", 25, code=1)
    summary, told, printed, *_ = re.split(r"\n\n(?=\w+: )|As a test:\n\n", done.out)
    assert re.fullmatch(r"acme:controlled: [\d,]+ conversations? played, \d+ of the invariants broken", summary)
    assert told.startswith(("conversation_only_grows: ", "turns_are_added_as_they_were: ", "results_go_back_whole: "))

    assert run_test(printed, tmp_path, site) == (1, True)
    loop.write_text(loop.read_text().replace(*reversed(FORGETS)))
    assert run_test(printed, tmp_path, site) == (0, False)


def run_test(printed: str, folder: Path, site: Path) -> tuple[int, bool]:
    """Run the test as its reader would: the exit code of pytest, and whether the breach was the reason."""
    (folder / "test_breach.py").write_text(printed)
    environment = own_environment(PYTHONPATH=str(site), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    options = ("-q", "-p", "no:cacheprovider", "test_breach.py")
    done = run_warm("pytest", options, cwd=folder, env=environment, timeout=300)
    return done.returncode, "assert breaches(AcmeAgent, CONVERSATION) == []" in done.stdout


def test_an_adapter_that_plays_nothing_has_not_passed(bench: Bench, new_adapter: NewAdapter) -> None:
    new_adapter("acme", _loop=("outcome = Outcome()\n", "__import__('os')._exit(7)\n"))
    done = bench("adapter", "check", "acme", "--fuzz", 60, code=3)
    assert "the adapter's process ended with 7 while it played" in done.err
    assert done.out == ""
