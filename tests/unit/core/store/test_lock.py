"""One process at a time holds a lock, however it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from trialbed.errors import DataError, UsageError
from trialbed.store import Store
from trialbed.store._lock import is_held

NAME = "a" * 64
HOLDER = """
import sys
from trialbed.store import Store

with Store.open(sys.argv[1]) as store, store.lock(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(location: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, location, NAME]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_one_holder_at_a_time(store: Store, location: str) -> None:
    with Store.open(location) as other, store.lock(NAME):
        with pytest.raises(UsageError, match="running in another process"), other.lock(NAME):
            pass
        with other.lock("b" * 64):
            pass
    with store.lock(NAME):
        pass


def test_nothing_is_left_beside_a_file(path: Path) -> None:
    with Store.open(str(path)) as store, store.lock(NAME):
        assert len(list(path.parent.glob("*.lock"))) == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_lock_of_a_process_that_was_killed_is_free(store: Store, location: str) -> None:
    with held_elsewhere(location) as process:
        with pytest.raises(UsageError, match="running in another process"), store.lock(NAME):
            pass
        process.kill()
        process.wait()
        _take_when_free(store)


def test_a_url_and_a_link_of_a_file_are_locked_too(tmp_path: Path) -> None:
    path, link = tmp_path / "store.db", tmp_path / "link.db"
    link.symlink_to(path)
    with Store.open(str(path)) as store, store.lock(NAME):
        for other in (f"sqlite:///{path}", str(link)):
            with Store.open(other) as same, pytest.raises(UsageError, match="in another process"), same.lock(NAME):
                pass


def _take_when_free(store: Store) -> None:
    """PostgreSQL notices the end of a session a moment after the process's."""
    for _ in range(1000):
        try:
            with store.lock(NAME):
                return
        except UsageError:
            continue
    pytest.fail("the lock stayed taken")


def test_a_database_that_is_out_of_reach_is_an_error_that_says_so(postgres_url: str) -> None:
    with Store.open(postgres_url) as store:
        store.close()
        store._database.engine.dialect.connect = _refuse  # type: ignore[method-assign]
        with pytest.raises(DataError, match="cannot be used: refused"), store.lock(NAME):
            pass


def _refuse(*_: object, **__: object) -> None:
    raise psycopg.OperationalError("refused")


def test_many_look_at_once_whether_a_lock_is_held(path: Path) -> None:
    with Store.open(str(path)) as store, ThreadPoolExecutor(4) as threads:

        def look(times: int = 40) -> set[bool]:
            return set(threads.map(lambda _: is_held(store._database.engine, NAME), range(times)))

        assert look() == {False}
        with held_elsewhere(str(path)) as process:
            assert look(4) == {True}
            process.kill()
            process.wait()
        assert look() == {False}
