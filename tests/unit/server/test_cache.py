"""The response cache: its memory, and reads of its file."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from trialbed.errors import DataError
from trialbed_server.cache import OVERHEAD, ResponseCache
from trialbed_server.response_store import ANY, Entry, Origin, ResponseStore, best
from trialbed_server.standard_names import StandardName

NAME = StandardName("Data", "tool", "api")
MINE, OTHERS = Origin("template", "1"), Origin("template", "2")
ORIGINS = (Origin("real"), Origin("imported"), MINE, OTHERS)
KEY, ALIAS = "a" * 64, "b" * 64


def an_entry(key: str, origin: Origin) -> Entry:
    return Entry(
        key, NAME, "{}", f'{{"error": "", "response": "{key[0]} {origin.provenance} {origin.revision}"}}', origin
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "odd # name?.db"


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


async def test_it_chooses_as_the_store_does(file: Path) -> None:
    everything = [an_entry(key, origin) for key in (KEY, ALIAS) for origin in ORIGINS]
    chosen = [some for size in (0, 1, 2, 3) for some in itertools.combinations(everything, size)]
    store = ResponseStore(str(file))
    for number, entries in enumerate(chosen):
        # One file for all: each set has keys of its own.
        keys = f"{number:063d}a", f"{number:063d}b"
        store.add([an_entry(keys[entry.key == ALIAS], entry.origin) for entry in entries])
    async with ResponseCache(str(file), memory=0) as cache:
        for number, origin in itertools.product(range(len(chosen)), (MINE, ANY)):
            key, alias = f"{number:063d}a", f"{number:063d}b"
            for other in (key, alias):
                expected = best(store.find([key, other]), key, origin)
                found = await cache.find([key, other], origin)
                assert found == (None if expected is None else (expected.body, expected.origin.provenance))
    store.close()


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
