"""Stores are opened, created and locked, by several processes at once, and say what keeps them from it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import DataError, UsageError
from trialbed.records import Run, TrialResult
from trialbed.store import Store, counted_attempts, open_store

NAME = "a" * 64
HOLDER = """
import sys
from trialbed.store import Store

with Store.open(sys.argv[1]) as store, store.lock(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""
WRITER = """
import sys
from pathlib import Path
from trialbed.records import TrialResult
from trialbed.store import Store

sys.stdin.readline()
store = Store.open(sys.argv[1])
trial = TrialResult.model_validate_json(Path(sys.argv[2]).read_text())
for query_id in range(int(sys.argv[3]), int(sys.argv[4])):
    store.add_trial("r1", trial.model_copy(update={"key": trial.key.model_copy(update={"query_id": query_id})}))
"""


def test_a_store_is_opened_and_read_while_another_process_writes(path: Path, make_run: Callable[..., Run]) -> None:
    with Store.open(str(path)) as store:
        store.create_run(make_run())
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with Store.open(str(path)) as store:
            assert store.run("r1") == make_run()
        assert writer.in_transaction


@pytest.mark.slow(15)
def test_processes_that_write_or_create_the_store_at_once_lose_nothing(
    path: Path, make_run: Callable[..., Run], make_trial: Callable[..., TrialResult]
) -> None:
    trial = path.parent.parent / "trial.json"
    trial.write_text(make_trial().model_dump_json())

    def write(*spans: tuple[int, int]) -> None:
        commands = [[sys.executable, "-c", WRITER, str(path), str(trial), *map(str, span)] for span in spans]
        writers = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for command in commands]
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for writer in writers:
            writer.communicate(timeout=60)
        assert [writer.returncode for writer in writers] == [0] * len(writers)

    write(*[(0, 0)] * 4)
    with Store.open(str(path)) as store:
        assert store.runs() == []
        store.create_run(make_run())
    write((0, 60), (100, 160), (200, 260))
    with Store.open(str(path)) as store:
        found = {one.key.query_id for one in counted_attempts(store.each_attempt("r1"))}
    assert found == {*range(60), *range(100, 160), *range(200, 260)}


def test_one_process_at_a_time_holds_a_lock_which_is_free_if_it_is_killed(store: Store, location: str) -> None:
    def take() -> None:
        with store.lock(NAME):
            pass

    command = [sys.executable, "-c", HOLDER, location, NAME]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="running in another process"):
            take()
        with store.lock("b" * 64):
            pass
        process.kill()
        process.wait()
    for _ in range(1000):  # PostgreSQL notices the end of a session a moment after the process's
        try:
            return take()
        except UsageError:
            continue
    pytest.fail("the lock stayed taken")


def test_a_file_is_locked_under_each_of_its_names_and_nothing_is_left_next_to_it(tmp_path: Path) -> None:
    path, link = tmp_path / "store.db", tmp_path / "link.db"
    link.symlink_to(path)
    with Store.open(str(path)) as store, store.lock(NAME):
        for other in (f"sqlite:///{path}", str(link)):
            with Store.open(other) as same, pytest.raises(UsageError, match="in another process"), same.lock(NAME):
                pass
        assert len(list(tmp_path.glob("*.lock"))) == 1
    assert not list(tmp_path.glob("*.lock"))


def _not_a_database(path: Path) -> None:
    path.write_bytes(b"garbage, not a database. " * 1000)


def _of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE trials (x)")


def _of_another_trialbed(path: Path) -> None:
    Store.open(str(path)).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE trialbed_store SET schema_version = 99")


@for_each(
    ("number", "make", "message"),
    [
        (0, _not_a_database, r"0\.db cannot be used: .*move it away"),
        (1, _of_another_program, "another program's"),
        (2, _of_another_trialbed, r"schema version 99, and this Trialbed reads version \d+; use the"),
        (3, Path.mkdir, "unable to open"),
    ],
)
def test_what_is_not_a_store_of_this_trialbed_is_refused(
    tmp_path: Path, number: int, make: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / f"{number}.db"
    make(path)
    with pytest.raises(DataError, match=message):
        Store.open(str(path))


@for_each(
    ("url", "message"),
    [
        ("nosuch://x/y", "driver that is not installed"),
        ("a b://", "cannot be read"),
        ("postgresql+psycopg://x:p/y", "cannot be read"),
        ("sqlite://", "needs a file"),
        (f"{__file__}/x.db", "cannot be created"),
    ],
)
def test_places_that_cannot_be_used_say_why(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Store.open(url)


def test_a_store_next_to_which_nothing_can_be_written_is_refused(path: Path) -> None:
    Store.open(str(path)).close()
    Path(f"{path}-shm").symlink_to("nowhere")  # stands in its way for every user, also one who may write everywhere
    for opened in (Store.open, open_store):
        with pytest.raises(DataError, match="check that the file and its folder can be written"):
            opened(str(path))
