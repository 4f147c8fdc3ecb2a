"""Judges that are asked in another event loop than that of whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from trialbed.contracts import Judge, Verdict
from trialbed.own_thread import OwnLoop
from trialbed.records import Answer, Json, Query, WireLog
from trialbed.scoring._bounds import SILENT_SECONDS


@asynccontextmanager
async def judge_apart(judge: Judge) -> AsyncIterator[Judge]:
    """Have a judge of the caller's work in an event loop of its own, so that a run goes on whatever it does."""
    loop = OwnLoop()
    try:
        yield _JudgeElsewhere(judge, partial(loop.do, seconds=SILENT_SECONDS, package=type(judge).__module__))
    finally:
        loop.end()


def judge_here(judge: Judge) -> Judge:
    """Return a judge that works in this event loop whoever asks: its model's connections are of this one."""
    loop = asyncio.get_running_loop()

    def ask(begin: Callable[[], Coroutine[Any, Any, Any]]) -> Awaitable[Any]:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(begin(), loop))

    return _JudgeElsewhere(judge, ask)


class _JudgeElsewhere(Judge):
    """A judge whose coroutines run in another event loop."""

    def __init__(self, judge: Judge, ask: Callable[[Callable[[], Coroutine[Any, Any, Any]]], Awaitable[Any]]) -> None:
        super().__init__(getattr(judge, "endpoint", None), votes=getattr(judge, "votes", 1))
        self._judge = judge
        self._ask = ask

    @property
    def about(self) -> Mapping[str, Json]:
        """The settings of the judge."""
        return self._judge.about

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge."""
        verdict: Verdict = await self._ask(partial(self._judge.judge, query, answer, wire))
        return verdict

    async def meets(self, criterion: str, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Return the verdict of the judge on a criterion."""
        verdict: Verdict = await self._ask(partial(self._judge.meets, criterion, query, answer, wire))
        return verdict
