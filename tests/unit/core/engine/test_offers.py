"""The tools of a long run, which are read part by part."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from trialbed.engine._offers import AT_ONCE, KEPT, Part, RunTools, ToolsNotChosen
from trialbed.records import ApiRef, ToolSpec

API = ApiRef(category="C", tool_name="T", api_name="a")


def tool(query_id: int | str) -> ToolSpec:
    return ToolSpec(name=f"of_{query_id}", description="", parameters={}, api=API)


class Chooser:
    def __init__(self) -> None:
        self.asked: list[int | str] = []

    def __call__(self, ids: Sequence[int | str]) -> Part:
        self.asked.append(ids[0])
        return {None: {query_id: (tool(query_id),) for query_id in ids}}


async def test_parts_are_read_once_while_trials_are_about_them() -> None:
    chooser = Chooser()
    tools = RunTools(chooser, range(5 * AT_ONCE))

    async def trial(query_id: int) -> None:
        assert await tools(None, query_id) == (tool(query_id),)

    await asyncio.gather(*(trial(query_id) for query_id in range(AT_ONCE + 10)))
    assert chooser.asked == [0, AT_ONCE]


async def test_parts_that_were_read_long_ago_are_read_again() -> None:
    chooser = Chooser()
    tools = RunTools(chooser, range(8 * AT_ONCE))
    parts = [0, *range(1, KEPT + 1), 1, 0]
    for part in parts:
        assert await tools(None, part * AT_ONCE) == (tool(part * AT_ONCE),)
    assert chooser.asked == [part * AT_ONCE for part in [*range(KEPT + 1), 0]]


async def test_a_choice_that_fails_is_not_made_again_for_the_trials_that_wait() -> None:
    asked: list[int | str] = []

    def choose(ids: Sequence[int | str]) -> Part:
        asked.append(ids[0])
        raise RuntimeError("the endpoint is gone")

    tools = RunTools(choose, range(2 * AT_ONCE))

    async def trial(query_id: int) -> None:
        with pytest.raises(ToolsNotChosen, match="gone"):
            await tools(None, query_id)

    await asyncio.gather(*(trial(query_id) for query_id in range(AT_ONCE - 8, AT_ONCE + 8)))
    assert asked == [0]
