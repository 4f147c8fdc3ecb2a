"""The response cache: its database, the choice between entries, and its memory."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed_server.response_store import ANY, OVERHEAD, Entry, Origin, ResponseCache, ResponseStore, StoredBody, best
from trialbed_server.standard_names import StandardName

NAME = StandardName("Data", "tool", "api")


def entry(key: str = "k", body: str = "{}", *origin: str, tool_input: str = "{}") -> Entry:
    return Entry(key, NAME, tool_input, body, Origin(*(origin or ("template", "1"))))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "odd # name?.db"


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


MINE = Origin("template", "1")
KEY, ALIAS = "a" * 64, "b" * 64


def an_entry(key: str, origin: Origin) -> Entry:
    return Entry(
        key, NAME, "{}", f'{{"error": "", "response": "{key[0]} {origin.provenance} {origin.revision}"}}', origin
    )


def stored(file: Path, entries: Sequence[Entry]) -> None:
    store = ResponseStore(str(file))
    store.add(entries)
    store.close()


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)


async def test_memory_keeps_what_was_used_last_and_no_more_than_its_size(file: Path) -> None:
    item = OVERHEAD + len(an_entry(KEY, MINE).body)
    async with ResponseCache(str(file), memory=20 * item) as cache:
        for number in range(100):
            await cache.add(replace(an_entry(KEY, MINE), key=str(number)))
            assert cache.recent(str(number), MINE) is not None
            assert cache.recent("0", MINE) is not None
        await cache.add(replace(an_entry(KEY, MINE), key="99"))
        assert [number for number in range(100) if cache.recent(str(number), MINE)] == [0, *range(81, 100)]
        await cache.add(replace(an_entry(KEY, MINE), key="large", body="x" * 100 * item))
        assert cache.recent("large", MINE) is None
        await cache.add(replace(an_entry(KEY, MINE), key="small"))
        assert cache.recent("small", MINE) is not None


async def test_what_is_new_is_found(file: Path) -> None:
    async with ResponseCache(str(file), memory=0) as cache:
        assert await cache.find([KEY, ALIAS], MINE) is None
        await cache.add(an_entry(KEY, MINE))
        assert await cache.find([KEY, ALIAS], MINE) is not None
        stored(file, [an_entry(ALIAS, Origin("real"))])
        assert await cache.find([ALIAS], MINE) is not None


async def test_a_file_that_cannot_be_read_is_an_error_of_the_thread(file: Path) -> None:
    stored(file, [an_entry(f"{number:064d}", MINE) for number in range(200)])
    async with ResponseCache(str(file), memory=0) as cache:
        await asyncio.to_thread(damage, file)
        with pytest.raises(DataError, match="is damaged"):
            await cache.find([KEY, ALIAS], MINE)
