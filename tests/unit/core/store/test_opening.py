from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import DataError, UsageError
from trialbed.records import Run, TrialResult
from trialbed.store import Store, counted_attempts, open_store


def test_folders_are_made_and_what_was_stored_is_found_again(path: Path, make_run: Callable[..., Run]) -> None:
    with Store.open(str(path)) as store:
        store.create_run(make_run())
    with Store.open(str(path)) as store:
        assert store.run("r1") == make_run()
    assert path.is_file()


def test_a_url_is_opened_too(tmp_path: Path, make_run: Callable[..., Run]) -> None:
    with Store.open(f"sqlite:///{tmp_path}/a/b.db") as store:
        store.create_run(make_run())
    assert (tmp_path / "a" / "b.db").is_file()


def test_a_store_is_opened_and_read_while_another_process_writes(path: Path, make_run: Callable[..., Run]) -> None:
    with Store.open(str(path)) as store:
        store.create_run(make_run())
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with Store.open(str(path)) as store:
            assert store.run("r1") == make_run()
        assert writer.in_transaction


def test_a_file_that_is_no_database_says_what_to_do(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"garbage, not a database. " * 1000)
    with pytest.raises(DataError, match=r"state\?\.db cannot be used: .*move it away"):
        Store.open(str(path))
    assert path.read_bytes().startswith(b"garbage")


def test_a_damaged_file_says_what_to_do(
    path: Path, make_run: Callable[..., Run], make_trial: Callable[..., TrialResult]
) -> None:
    with Store.open(str(path)) as store:
        store.create_run(make_run())
        for query_id in range(50):
            store.add_trial("r1", make_trial(query_id, body=f"{query_id}" * 1000))
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + bytes(len(whole) - 8192))
    with pytest.raises(DataError, match="move it away"), Store.open(str(path)) as store:
        counted_attempts(store.each_attempt("r1"))


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE trials (x)")
    with pytest.raises(DataError, match="another program's"):
        Store.open(str(path))


def test_the_store_of_another_trialbed_is_left_alone(path: Path) -> None:
    Store.open(str(path)).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE trialbed_store SET schema_version = 99")
    with pytest.raises(DataError, match=r"schema version 99, and this Trialbed reads version \d+; use the"):
        Store.open(str(path))


@for_each(
    ("url", "message"),
    [
        ("nosuch://x/y", "driver that is not installed"),
        ("a b://", "cannot be read"),
        ("postgresql+psycopg://x:p/y", "cannot be read"),
        ("sqlite://", "needs a file"),
    ],
)
def test_urls_that_cannot_be_used_say_why(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Store.open(url)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file"):
        Store.open(str(tmp_path / "file" / "x.db"))


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unable to open"):
        Store.open(str(tmp_path))


def test_a_store_beside_which_nothing_can_be_written_is_refused(path: Path) -> None:
    Store.open(str(path)).close()
    Path(f"{path}-shm").symlink_to("nowhere")  # stands in its way for every user, also one who may write everywhere
    for opened in (Store.open, open_store):
        with pytest.raises(DataError, match="check that the file and its folder can be written"):
            opened(str(path))
