"""The database of the response cache, and the choice between entries."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from support.cases import for_each

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed_server.response_store import ANY, Entry, Origin, ResponseStore, StoredBody, best
from trialbed_server.standard_names import StandardName

NAME = StandardName("Data", "tool", "api")


def entry(key: str = "k", body: str = "{}", *origin: str, tool_input: str = "{}") -> Entry:
    return Entry(key, NAME, tool_input, body, Origin(*(origin or ("template", "1"))))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "responses.db"


def test_entries_survive_and_the_first_of_a_key_and_origin_stays(file: Path) -> None:
    store = ResponseStore(str(file))
    assert store.add([entry(body="1"), entry("other")]) == 2
    assert store.add([entry(body="2"), entry(body="3", tool_input="[]"), entry("k", "4", "real")]) == 1
    store.close()
    store = ResponseStore(str(file))
    assert sorted((found.body, found.origin.provenance) for found in store.find(["k"])) == [
        (b"1", "template"),
        (b"4", "real"),
    ]
    store.close()


def test_names_of_any_text_are_kept(file: Path) -> None:
    name = StandardName("a/../\x00", "天气", "")
    store = ResponseStore(str(file))
    store.add([Entry("k", name, "[]", "{}", Origin("imported"))])
    assert store.inputs(name) == ["[]"]
    store.close()


def test_a_file_that_is_no_database_is_named(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(DataError, match=r"responses\.db: file is not a database; .* give another --response-cache"):
        ResponseStore(str(file))


@for_each(
    ("location", "said"),
    [
        ("mysql://me:secret@db.example/x", "mysql://me:***@db.example/x: only SQLite files"),
        ("postgresql+psycopg://me:secret@db.example:port/x", "postgresql+psycopg://…: not a database URL"),
        ("postgresql+psycopg://me:secret@127.0.0.1:1/x", "; check that the database is running and accepts your login"),
    ],
)
def test_an_address_that_cannot_be_used_is_named_without_its_password(location: str, said: str) -> None:
    with pytest.raises(TrialbedError) as caught:
        ResponseStore(location)
    message = str(caught.value)
    assert said in message
    assert "secret" not in message
    assert "\n" not in message


def test_a_damaged_database_is_an_error_when_it_is_read(file: Path) -> None:
    store = ResponseStore(str(file))
    store.add([entry(str(index), "x" * 2000) for index in range(200)])
    store.close()
    content = bytearray(file.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"responses\.db: .*malformed"):
        read_all(file)


def read_all(file: Path) -> None:
    store = ResponseStore(str(file))
    try:
        store.find([str(index) for index in range(200)])
    finally:
        store.close()


def test_a_cache_of_another_version_is_not_touched(file: Path) -> None:
    ResponseStore(str(file)).close()
    connection = sqlite3.connect(file)
    connection.execute("UPDATE trialbed_cache_schema SET version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match="version 99, this Trialbed has 2"):
        ResponseStore(str(file))


@for_each("location", ["mysql://host/db", "nonsense://x", "postgresql+nodriver://host/db", "://"])
def test_locations_that_cannot_be_used_are_named(location: str) -> None:
    with pytest.raises(UsageError, match="--response-cache"):
        ResponseStore(location)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="its folder cannot be created"):
        ResponseStore(str(tmp_path / "file" / "responses.db"))


def test_several_servers_start_on_a_new_cache_at_once(file: Path) -> None:
    together = Barrier(8)

    def start(_number: int) -> None:
        together.wait()
        ResponseStore(str(file)).close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(8)))


TEMPLATE = Origin("template", "1")


def entries(*pairs: tuple[str, Origin]) -> list[StoredBody]:
    return [StoredBody(key, origin, b"{}") for key, origin in pairs]


REAL, IMPORTED = Origin("real"), Origin("imported")


@for_each(
    ("stored", "asked", "found"),
    [
        ([("k", TEMPLATE), ("k", IMPORTED), ("k", REAL)], TEMPLATE, ("k", REAL)),
        ([("k", TEMPLATE), ("k", IMPORTED)], TEMPLATE, ("k", IMPORTED)),
        ([("k", TEMPLATE), ("alias", IMPORTED)], TEMPLATE, ("alias", IMPORTED)),
        ([("k", IMPORTED), ("alias", REAL)], TEMPLATE, ("k", IMPORTED)),
        ([("k", TEMPLATE)], TEMPLATE, ("k", TEMPLATE)),
        ([("k", TEMPLATE)], Origin("template", "2"), None),
        ([("k", TEMPLATE)], Origin("mini", "1"), None),
        ([("alias", TEMPLATE)], TEMPLATE, None),
        ([("k", TEMPLATE)], ANY, ("k", TEMPLATE)),
        ([("alias", TEMPLATE)], ANY, None),
        ([], TEMPLATE, None),
    ],
)
def test_authoritative_entries_come_first_and_a_simulators_are_its_own(
    stored: list[tuple[str, Origin]], asked: Origin, found: tuple[str, Origin] | None
) -> None:
    entry = best(entries(*stored), "k", asked)
    assert (entry and (entry.key, entry.origin)) == found
