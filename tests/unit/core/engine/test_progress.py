from __future__ import annotations

import asyncio

from trialbed.engine import RunProgress, say_when_long


class Notes(RunProgress):
    """Keeps what was noted."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.noted = asyncio.Event()

    def note(self, text: str) -> None:
        self.texts.append(text)
        self.noted.set()


async def test_a_phase_that_takes_long_says_what_it_does() -> None:
    notes = Notes()

    async def until_noted() -> int:
        await notes.noted.wait()
        return 1

    assert await say_when_long(notes.note, "reading", until_noted(), seconds=0) == 1
    assert notes.texts == ["reading"]


async def test_one_that_is_quick_says_nothing() -> None:
    notes = Notes()
    assert await say_when_long(notes.note, "reading", asyncio.sleep(0, 1), seconds=60) == 1
    assert notes.texts == []
