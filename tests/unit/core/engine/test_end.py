"""The end of a session."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event
from typing import Any

from trialbed.engine._end import RunEnd
from trialbed.engine._progress import RunProgress


class Kept:
    """Stands for a store that has a trial of the run."""

    def __init__(self) -> None:
        self.status = ""

    def has_attempts(self, _: str) -> bool:
        return True

    def update_run(self, _: str, *, status: str, **__: Any) -> None:
        self.status = status

    def run(self, _: str) -> Any:
        return self


class Shown:
    """Stands for a run."""

    run_id = "r1"
    overall_time = 0.0


def test_a_second_interruption_does_not_wait_for_the_figures() -> None:
    store, began, released, made = Kept(), Event(), Event(), list[str]()

    def report(_: Any) -> None:
        began.set()
        released.wait(20)
        made.append("report")

    async def interrupted() -> None:
        end: Any = RunEnd(store, Shown(), RunProgress(), report)  # type: ignore[arg-type]
        ending = asyncio.create_task(end.cut_short(void=False))
        await asyncio.to_thread(began.wait, 20)
        ending.cancel()
        with suppress(asyncio.CancelledError):
            await ending

    try:
        asyncio.run(interrupted())
        assert (store.status, made) == ("interrupted", [])
    finally:
        released.set()
