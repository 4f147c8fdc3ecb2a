"""What the event loop itself reads from a response cache is what a thread would."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from trialbed_server.cache import REST, SLOW, SLOW_READS, DirectReader, ResponseCache
from trialbed_server.response_store import ANY, NO_ONE, Entry, Origin, ResponseStore, best
from trialbed_server.standard_names import StandardName

NAME = StandardName("Data", "tool", "api")
MINE, OTHERS = Origin("template", "1"), Origin("template", "2")
ORIGINS = (Origin("real"), Origin("imported"), MINE, OTHERS)
KEY, ALIAS = "a" * 64, "b" * 64


def an_entry(key: str, origin: Origin) -> Entry:
    return Entry(
        key, NAME, "{}", f'{{"error": "", "response": "{key[0]} {origin.provenance} {origin.revision}"}}', origin
    )


def at_once(work: Callable[[], None]) -> None:
    """End the transaction before it has begun to read: each read is one of its own."""
    work()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "odd # name?.db"


def stored(file: Path, entries: Sequence[Entry]) -> None:
    store = ResponseStore(str(file))
    store.add(entries)
    store.close()


def test_it_chooses_as_the_store_does(tmp_path: Path) -> None:
    everything = [an_entry(key, origin) for key in (KEY, ALIAS) for origin in ORIGINS]
    chosen = [some for size in (0, 1, 2, 3) for some in itertools.combinations(everything, size)]
    for number, entries in enumerate(chosen):
        # One file for all: each set has keys of its own.
        keys = f"{number:063d}a", f"{number:063d}b"
        stored(tmp_path / "one.db", [an_entry(keys[entry.key == ALIAS], entry.origin) for entry in entries])
    reader = DirectReader.of(str(tmp_path / "one.db"), at_once)
    assert reader is not None
    store = ResponseStore(str(tmp_path / "one.db"))
    for number, origin in itertools.product(range(len(chosen)), (MINE, ANY, NO_ONE)):
        key, alias = f"{number:063d}a", f"{number:063d}b"
        for other in (key, alias):
            expected = best(store.find([key, other]), key, origin)
            found = reader.find(key, lambda other=other: other, origin)  # type: ignore[misc]
            assert found == (None if expected is None else (expected.body.encode(), expected.origin.provenance))
    store.close()
    reader.close()


async def test_a_stored_answer_is_at_hand_once_the_cache_is_open(file: Path) -> None:
    stored(file, [an_entry(KEY, Origin("imported"))])
    async with ResponseCache(str(file), memory=0) as cache:
        found = cache.at_once(KEY, lambda: ALIAS, MINE)
        assert found is not None
        assert found.provenance == "imported"
        await cache.add(an_entry(ALIAS, MINE))
        assert cache.at_once(ALIAS, lambda: ALIAS, MINE) is not None
    assert cache.at_once(KEY, lambda: ALIAS, MINE) is None


def test_reads_of_one_turn_are_one_transaction_and_the_next_turn_sees_what_is_new(file: Path) -> None:
    stored(file, [an_entry(KEY, Origin("real"))])
    turn: list[Callable[[], None]] = []
    reader = DirectReader.of(str(file), turn.append)
    assert reader is not None
    assert reader.find(KEY, lambda: KEY, MINE) is not None
    stored(file, [an_entry(ALIAS, Origin("real"))])
    assert reader.find(ALIAS, lambda: ALIAS, MINE) is None
    (end,) = turn
    end()
    assert reader.find(ALIAS, lambda: ALIAS, MINE) is not None
    reader.close()
    turn[-1]()


def test_what_cannot_be_read_is_left_to_others(file: Path) -> None:
    assert DirectReader.of(str(file), at_once) is None
    file.write_bytes(b"not a database" * 1000)
    reader = DirectReader.of(str(file), at_once)
    assert reader is not None
    assert reader.find(KEY, lambda: ALIAS, MINE) is None
    reader.close()


def test_it_does_not_wait_for_a_lock(file: Path) -> None:
    stored(file, [an_entry(KEY, Origin("real"))])
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA journal_mode=DELETE")
    reader = DirectReader.of(str(file), at_once)
    assert reader is not None
    other.execute("BEGIN EXCLUSIVE")
    assert reader.find(KEY, lambda: ALIAS, MINE) is None
    other.execute("ROLLBACK")
    assert reader.find(KEY, lambda: ALIAS, MINE) is not None
    other.close()
    reader.close()


def test_a_slow_file_is_left_to_others_for_a_while(file: Path) -> None:
    stored(file, [an_entry(KEY, Origin("real"))])
    times: list[float] = []
    reader = DirectReader(sqlite3.connect(file, isolation_level=None), at_once, clock=lambda: times.pop(0))

    def found(*clock: float) -> bool:
        times[:] = clock
        return reader.find(KEY, lambda: ALIAS, MINE) is not None

    slow = 2 * SLOW
    assert [found(0, slow) for _ in range(SLOW_READS - 1)] == [True] * (SLOW_READS - 1)
    assert found(0, 0), "one that is quick shows that it was chance"
    assert all(found(0, slow) for _ in range(SLOW_READS))
    assert not found(slow + REST / 2)
    assert found(slow + REST, slow + REST)
    reader.close()
