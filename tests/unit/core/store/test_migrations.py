"""A store of an older version opens, is brought up to date once, and is whole if that fails."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text

from trialbed import open_store
from trialbed.engine import config_digest
from trialbed.errors import DataError
from trialbed.store import Store, _migrations
from trialbed.store._schema import SCHEMA_VERSION

SAME_TABLES = {4}
"""Versions whose tables are those of the next one."""

STORES = Path(__file__).parents[3] / "support" / "stores"
OPENER = """
import sys
from trialbed.store import Store

sys.stdin.readline()
with Store.open(sys.argv[1]) as store:
    print(len(store.runs()))
"""


@pytest.fixture(params=[f"version-{version}.db" for version in range(1, SCHEMA_VERSION)])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a store of an earlier version."""
    return Path(shutil.copy(STORES / request.param, tmp_path / "trialbed.db"))


@pytest.fixture
def contents(old: Path) -> str:
    """Everything in the store before it is opened."""
    return dump(old)


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT schema_version FROM trialbed_store").fetchone()[0])


def test_there_is_a_way_from_every_version_to_the_next() -> None:
    assert set(_migrations.MIGRATIONS) == set(range(1, SCHEMA_VERSION))


def test_an_old_store_can_be_read(old: Path) -> None:
    with open_store(str(old)) as reader:
        interrupted, finished = reader.runs()
        assert (interrupted.status, finished.status) == ("interrupted", "finished")
        assert (interrupted.config.max_steps, interrupted.config.seed) == (9, 1)
        assert finished.config.limits.timeout == 120
        trial = finished.trials()[0]
        assert trial.answer is not None
        assert trial.score("api_f1")
        assert trial.wire.model_calls[0].response
        assert finished.frameworks[0].packages
        assert finished.tools(trial.key.query_id)
    assert version(old) == SCHEMA_VERSION


def test_an_old_store_can_be_written(old: Path) -> None:
    with Store.open(str(old)) as store:
        interrupted, finished = store.runs()
        assert len(store.finished_keys(interrupted.run_id)) == 2
        store.update_run(interrupted.run_id, status="running", frameworks=finished.frameworks)
        store.add_trial(
            finished.run_id,
            store.results(interrupted.run_id)[0].model_copy(update={"key": finished_key(store, finished.run_id)}),
        )
        store.discard_run(finished.run_id)
        assert [run.status for run in store.runs()] == ["running"]


def finished_key(store: Store, run_id: str) -> object:
    key = next(iter(store.finished_keys(run_id)))
    return key.model_copy(update={"repeat": 1})


def test_an_unfinished_run_of_an_old_store_is_found_again(old: Path) -> None:
    with Store.open(str(old)) as store:
        interrupted = store.runs()[0]
        assert config_digest(interrupted.config) == interrupted.config_digest
        assert store.unfinished_run(config_digest(interrupted.config)) == interrupted


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    old: Path, contents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_the_end(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE runs ADD COLUMN more TEXT")
        connection.exec_driver_sql("DELETE FROM trials")
        raise RuntimeError("interrupted")

    with monkeypatch.context() as patch:
        patch.setitem(_migrations.MIGRATIONS, SCHEMA_VERSION - 1, fail_at_the_end)
        with pytest.raises(RuntimeError, match="interrupted"):
            Store.open(str(old))
    assert dump(old) == contents
    with Store.open(str(old)) as store:
        assert len(store.runs()) == 2


@pytest.mark.slow
def test_a_store_is_brought_up_to_date_once_by_however_many_open_it(old: Path) -> None:
    command = [sys.executable, "-c", OPENER, str(old)]
    openers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in openers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in openers]
    assert [process.returncode for process in openers] == [0] * 4
    assert outputs == ["2\n"] * 4
    assert version(old) == SCHEMA_VERSION


def test_a_store_that_is_up_to_date_is_not_changed_by_opening_it(old: Path) -> None:
    Store.open(str(old)).close()
    contents = dump(old)
    with open_store(str(old)) as reader:
        assert len(reader.runs()) == 2
    assert dump(old) == contents


def test_a_new_store_has_the_tables_of_a_migrated_one(old: Path, tmp_path: Path) -> None:
    Store.open(str(old)).close()
    Store.open(str(tmp_path / "new.db")).close()

    def tables(path: Path) -> set[str]:
        with closing(sqlite3.connect(path)) as connection:
            statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            return {re.sub(r"\s+", "", statement) for (statement,) in statements}

    assert tables(old) == tables(tmp_path / "new.db")


def test_a_migration_keeps_every_row(old: Path) -> None:
    def counts() -> list[int]:
        tables = ("runs", "trials", "scores", "calls", "blobs", "selections")
        with closing(sqlite3.connect(old)) as connection:
            return [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables]

    before = counts()
    Store.open(str(old)).close()
    assert counts() == before
    assert min(before) > 0
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_whose_version_was_lowered_by_damage_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "trialbed.db"
    Store.open(str(path)).close()
    for lower in set(range(1, SCHEMA_VERSION)) - SAME_TABLES:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE trialbed_store SET schema_version = {lower}")
        with pytest.raises(DataError, match="schema version was changed"):
            Store.open(str(path))


def test_an_old_store_in_postgresql_becomes_what_one_in_sqlite_becomes(tmp_path: Path, postgres_url: str) -> None:
    path = Path(shutil.copy(STORES / "version-2.db", tmp_path / "trialbed.db"))
    copy_to_postgresql(path, postgres_url)
    with open_store(postgres_url) as there, open_store(str(path)) as here:
        runs = here.runs()
        assert [run.record for run in there.runs()] == [run.record for run in runs]
        for run, copied in zip(runs, there.runs(), strict=True):
            assert [trial.result for trial in copied.attempts()] == [trial.result for trial in run.attempts()]
            assert copied.tools(run.config.query_ids[0]) == run.tools(run.config.query_ids[0])
    with Store.open(postgres_url) as store:
        result = store.results(runs[0].run_id)[0]
        store.add_trial(runs[0].run_id, result.model_copy(update={"attempt": 1}))
        with pytest.raises(DataError, match=r"already has attempt 1 "):
            store.add_trial(runs[0].run_id, result.model_copy(update={"attempt": 1}))


def copy_to_postgresql(path: Path, url: str) -> None:
    """A store as the same version would have made it there."""
    tables = ("trialbed_store", "blobs", "runs", "trials", "scores", "calls", "selections")
    engine = create_engine(url)
    with closing(sqlite3.connect(path)) as source, engine.begin() as target:
        for name in tables:
            (statement,) = source.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            for ours, theirs in ((" DOUBLE", " DOUBLE PRECISION"), (" BLOB", " BYTEA")):
                statement = statement.replace(ours, theirs)
            if name == "trials":
                statement = statement.replace("id INTEGER", "id SERIAL", 1)
            target.exec_driver_sql(statement)
            cursor = source.execute(f"SELECT * FROM {name}")
            names = [column[0] for column in cursor.description]
            values = ", ".join(f":{column}" for column in names)
            insert = text(f"INSERT INTO {name} ({', '.join(names)}) VALUES ({values})")
            target.execute(insert, [dict(zip(names, row, strict=True)) for row in cursor])
        target.exec_driver_sql("SELECT setval('trials_id_seq', (SELECT max(id) FROM trials))")
    engine.dispose()


def test_the_store_of_a_newer_version_is_left_alone(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute(f"UPDATE trialbed_store SET schema_version = {SCHEMA_VERSION + 1}")
    contents = dump(old)
    for opening in (Store.open, open_store):
        with pytest.raises(DataError, match=rf"has schema version {SCHEMA_VERSION + 1}, .*; update Trialbed"):
            opening(str(old))
    assert dump(old) == contents
