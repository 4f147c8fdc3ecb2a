"""What survives when processes die or write at once."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from trialbed.errors import DataError
from trialbed.records import Run, TrialResult
from trialbed.store import Store, _database, counted_attempts

pytestmark = pytest.mark.slow(20)

WRITER = """
import sys
from pathlib import Path
from trialbed.records import TrialResult
from trialbed.store import Store

store = Store.open(sys.argv[1])
trial = TrialResult.model_validate_json(Path(sys.argv[2]).read_text())
for query_id in range(int(sys.argv[3]), int(sys.argv[4])):
    body = f"{query_id} " * 2000
    calls = tuple(call.model_copy(update={"request": body}) for call in trial.wire.model_calls)
    store.add_trial("r1", trial.model_copy(update={
        "key": trial.key.model_copy(update={"query_id": query_id}),
        "wire": trial.wire.model_copy(update={"model_calls": calls}),
    }))
    print(query_id, flush=True)
"""

OPENER = """
import sys
from trialbed.store import Store

sys.stdin.readline()
Store.open(sys.argv[1]).close()
"""


@pytest.fixture
def trial_file(tmp_path: Path, make_trial: Callable[..., TrialResult]) -> Path:
    file = tmp_path / "trial.json"
    file.write_text(make_trial().model_dump_json())
    return file


def writer(path: Path, trial_file: Path, first: int, end: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(trial_file), str(first), str(end)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged_until_killed(process: subprocess.Popen[str], moment: int, delay: float) -> set[int]:
    """Kill the writer a little after its ``moment``-th trial; returns the trials that it said were committed."""
    assert process.stdout is not None
    seen = [int(process.stdout.readline()) for _ in range(moment)]
    killer = threading.Timer(delay, os.kill, (process.pid, signal.SIGKILL))
    killer.start()
    with process:
        seen += [int(line) for line in process.stdout if line.endswith("\n")]
    killer.join()
    assert process.returncode == -signal.SIGKILL
    return set(seen)


def test_a_killed_writer_loses_nothing_that_it_acknowledged(
    path: Path, trial_file: Path, make_run: Callable[..., Run]
) -> None:
    rng = random.Random(1)
    with Store.open(str(path)) as store:
        store.create_run(make_run())
    acknowledged: set[int] = set()
    for turn in range(4):
        process = writer(path, trial_file, turn * 10_000, turn * 10_000 + 9_999)
        acknowledged |= acknowledged_until_killed(process, rng.randrange(1, 20), rng.random() / 50)
        with Store.open(str(path)) as store:
            trials = counted_attempts(store.each_attempt("r1"))
        stored = Counter(trial.key.query_id for trial in trials)
        assert acknowledged <= set(stored)
        assert set(stored.values()) == {1}
        assert len(stored) - len(acknowledged) <= turn + 1  # the one whose acknowledgement was cut off
        assert all(len(trial.wire.model_calls) == 2 and len(trial.scores) == 2 for trial in trials)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_processes_that_write_at_once_lose_nothing(path: Path, trial_file: Path, make_run: Callable[..., Run]) -> None:
    with Store.open(str(path)) as store:
        store.create_run(make_run())
    writers = [writer(path, trial_file, first, first + 60) for first in (0, 100, 200)]
    outputs = [process.communicate(timeout=60)[0] for process in writers]
    assert [process.returncode for process in writers] == [0, 0, 0]
    assert [len(output.splitlines()) for output in outputs] == [60, 60, 60]
    with Store.open(str(path)) as store:
        found = {trial.key.query_id for trial in counted_attempts(store.each_attempt("r1"))}
    assert found == {*range(60), *range(100, 160), *range(200, 260)}


def test_opening_waits_for_another_process_that_is_creating_the_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, refused = _database.Database.read, threading.Event()

    @contextmanager
    def attempt(database: _database.Database) -> Iterator[Connection]:
        try:
            with read(database) as connection:
                yield connection
        except DataError:
            refused.set()
            raise

    monkeypatch.setattr(_database.Database, "read", attempt)
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor() as pool:
            opening = pool.submit(Store.open, str(path))
            assert refused.wait(timeout=60)
            other.execute("ROLLBACK")
            with opening.result(timeout=60) as store:
                assert store.runs() == []


def test_changes_through_several_connections_wait_for_each_other(path: Path, make_run: Callable[..., Run]) -> None:
    def change(number: int) -> None:
        with Store.open(str(path)) as store:
            for step in range(40):
                store.update_run("r1", overall_time=float(step))
                store.add_selections("r1", {f"{number} {step}": ()}, 120)

    with Store.open(str(path)) as store:
        store.create_run(make_run())
        with ThreadPoolExecutor() as pool:
            list(pool.map(change, range(4)))
        assert store.run("r1").overall_time == 39
        offers = {f"{number} {step}": () for number in range(4) for step in range(40)}
        assert store.selections("r1", [*offers], 120) == offers


def test_processes_may_create_the_store_at_once(path: Path) -> None:
    command = [sys.executable, "-c", OPENER, str(path)]
    openers = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in range(4)]
    for process in openers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in openers:
        process.communicate(timeout=60)
    assert [process.returncode for process in openers] == [0, 0, 0, 0]
    with Store.open(str(path)) as store:
        assert store.runs() == []
