"""The response cache: its memory, and reads of its file."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.errors import DataError
from trialbed_server.cache import OVERHEAD, CachedResponse, Recent, ResponseCache
from trialbed_server.response_store import ANY, NO_ONE, Entry, Origin, ResponseStore, best
from trialbed_server.standard_names import StandardName

ITEM = OVERHEAD + 10


def response(size: int = 10) -> CachedResponse:
    return CachedResponse(b"x" * size, "template")


def test_items_not_used_for_long_go_and_used_ones_stay() -> None:
    recent = Recent(20 * ITEM)
    for number in range(100):
        recent.put(str(number), response())
        assert recent.get(str(number)) == response()
        assert recent.get("0") == response()
    assert recent.get("80") is None
    assert recent.get("82") == response()


def test_an_item_too_large_is_not_kept() -> None:
    recent = Recent(10 * ITEM)
    recent.put("huge", response(100 * ITEM))
    assert recent.get("huge") is None
    recent.put("small", response())
    assert recent.get("small") == response()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh"), st.integers(0, 2000)), max_size=200))
def test_it_never_holds_more_than_its_capacity_nor_a_wrong_item(steps: list[tuple[bool, str, int]]) -> None:
    recent = Recent(10_000)
    latest: dict[str, CachedResponse] = {}
    for put, key, size in steps:
        if put:
            latest[key] = response(size)
            recent.put(key, latest[key])
        else:
            assert recent.get(key) in (None, latest.get(key))
    held = [found for key in "abcdefgh" if (found := recent.get(key)) is not None]
    assert sum(len(one.body) + OVERHEAD for one in held) <= 10_000


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


async def test_it_chooses_as_the_store_does(file: Path) -> None:
    everything = [an_entry(key, origin) for key in (KEY, ALIAS) for origin in ORIGINS]
    chosen = [some for size in (0, 1, 2, 3) for some in itertools.combinations(everything, size)]
    store = ResponseStore(str(file))
    for number, entries in enumerate(chosen):
        # One file for all: each set has keys of its own.
        keys = f"{number:063d}a", f"{number:063d}b"
        store.add([an_entry(keys[entry.key == ALIAS], entry.origin) for entry in entries])
    async with ResponseCache(str(file), memory=0) as cache:
        for number, origin in itertools.product(range(len(chosen)), (MINE, ANY, NO_ONE)):
            key, alias = f"{number:063d}a", f"{number:063d}b"
            for other in (key, alias):
                expected = best(store.find([key, other]), key, origin)
                found = await cache.find([key, other], origin)
                assert found == (None if expected is None else (expected.body.encode(), expected.origin.provenance))
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
