"""Trials are committed together, in their order, whatever ends the run."""

import asyncio
from collections.abc import Sequence

import pytest

from trialbed.errors import DataError
from trialbed.store import Commits

RESULTS = [f"result {number}" for number in range(3)]


class StoreDouble:
    """Keeps what is committed; holds its first transaction until it may go on."""

    def __init__(self, error: Exception | None = None) -> None:
        self.transactions: list[list[str]] = []
        self.error = error

    def add_trials(self, run_id: str, results: Sequence[str], *, masked: bool = False) -> None:
        assert run_id == "r1"
        if self.error is not None:
            raise self.error
        self.transactions.append(list(results))


def committing(store: StoreDouble) -> tuple[Commits, list[str]]:
    told: list[str] = []
    return Commits(store, "r1", told.append), told  # type: ignore[arg-type] # texts stand for results


async def test_what_has_ended_is_committed_when_the_run_is_cancelled() -> None:
    commits, told = committing(StoreDouble())
    added = asyncio.Event()

    async def run() -> None:
        async with commits.open():
            commits.put(RESULTS[0])  # type: ignore[arg-type]
            await commits.room()
            added.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await added.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert told == RESULTS[:1]


async def test_an_error_of_the_store_is_raised_and_nothing_counts_as_ended() -> None:
    commits, told = committing(StoreDouble(DataError("the disk is full")))

    async def run() -> None:
        async with commits.open():
            commits.put(RESULTS[0])  # type: ignore[arg-type]
            await commits.room()
            await asyncio.Event().wait()

    with pytest.raises(DataError, match="the disk is full"):
        await run()
    assert told == []


async def test_the_most_informative_error_is_raised_in_place_of_groups() -> None:
    commits, _ = committing(StoreDouble())

    async def fail(error: Exception) -> None:
        raise error

    async def run() -> None:
        async with commits.open(), asyncio.TaskGroup() as group:
            group.create_task(fail(ValueError("a consequence")))
            group.create_task(fail(DataError("the answer is lost")))

    with pytest.raises(DataError, match="the answer is lost"):
        await run()
