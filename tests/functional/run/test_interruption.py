"""Runs that end before their time."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from support.bench import Bench
from support.processes import family, wait_until, wait_until_ended
from support.warm import Program, is_warm, started_warm

from trialbed.records import TrialResult
from trialbed.store import Store, counted_attempts

pytestmark = pytest.mark.slow(30)

COMMAND = ("run", "-f", "reference", "-f", "langgraph", "--limit", "6", "--model", "scripted:slow", "-j", "2")
TRIALS = 12


def running(folder: Path, environment: dict[str, str]) -> AbstractContextManager[Program]:
    return started_warm("trialbed", COMMAND, cwd=folder, env=environment, own_session=True)


def kept(folder: Path) -> list[TrialResult]:
    path = folder / ".trialbed" / "trialbed.db"
    if not path.exists():
        return []
    with Store.open(str(path)) as store:
        runs = store.runs()
        return counted_attempts(store.each_attempt(runs[0].run_id)) if runs else []


def count(folder: Path) -> int:
    """How many trials are committed; cheap enough to be asked often."""
    path = folder / ".trialbed" / "trialbed.db"
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return int(connection.execute("select count(*) from trials").fetchone()[0])
    except sqlite3.OperationalError:  # not there yet
        return 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_ended_leaves_nothing_behind_and_goes_on_and_repeats_nothing(
    number: signal.Signals, bench: Bench, tmp_path: Path, bench_environment: dict[str, str]
) -> None:
    with running(tmp_path, bench_environment) as process:
        wait_until(lambda: count(tmp_path) >= 3)
        children = family(process.pid)
        assert len(children) >= 3  # the server, and a worker of each framework
        assert all(map(is_warm, children)), "each test that runs anything would wait for imports"
        if number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)
            assert process.wait(60) == 130
            assert "the same command continues from there" in process.errors
            assert "Traceback" not in process.errors
    wait_until_ended(children)
    before = {result.trial: result for result in kept(tmp_path)}
    assert 3 <= len(before) < TRIALS

    assert f"{len(before)} of them kept" in bench(*COMMAND).err
    after = {result.trial: result for result in kept(tmp_path)}
    assert len(after) == len({result.key for result in after.values()}) == TRIALS
    assert all(after[trial] == result for trial, result in before.items())
    assert all(result.outcome.failure is None for result in after.values())
