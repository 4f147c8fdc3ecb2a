from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from support.trials import run_config, run_of

from trialbed.contracts import ToolSelector
from trialbed.engine._gold import gold_script
from trialbed.engine._tools import AT_ONCE, KEPT, RunTools, ToolsNotChosen
from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query, Run, ToolSpec
from trialbed.store import Store

API = Api(
    category="Data",
    tool_name="Stars",
    api_name="by id",
    required_parameters=(
        Parameter(name="id", type="NUMBER", default="12"),
        Parameter(name="prose", type="NUMBER", default="any number"),
        Parameter(name="empty", default=""),
        Parameter(name="from", default="here"),
        Parameter(name="kind", type="ENUM", enum=("a", "b")),
        Parameter(name="id", type="STRING", default="again"),
    ),
    optional_parameters=(Parameter(name="rest", default="left out"),),
)
OTHER = API.model_copy(update={"api_name": "other"})
TOOL = ToolSpec(name="Stars_by_id", description="", parameters=API.parameters_schema(), api=API.ref)


def query(*calls: GoldCall) -> Query:
    return Query(query_id=1, text="?", apis=(API, OTHER), gold_calls=calls)


def test_the_datasets_arguments_are_played_as_they_are() -> None:
    (call,) = gold_script(query(GoldCall(api=API.ref, arguments={"id": 5})), [TOOL])
    assert (call.name, call.arguments) == ("Stars_by_id", {"id": 5})


def test_missing_arguments_are_defaults_of_the_right_type_else_examples() -> None:
    (call,) = gold_script(query(GoldCall(api=API.ref)), [TOOL])
    assert call.arguments == {"id": 12, "prose": 1, "empty": "example", "from": "here", "kind": "a"}


def test_a_gold_api_that_is_not_offered_cannot_be_played() -> None:
    assert gold_script(query(GoldCall(api=OTHER.ref)), [TOOL]) == ()


class Failing(ToolSelector):
    """Fails at its third query."""

    def __init__(self) -> None:
        self.asked = 0

    def select(self, query: Query, *, max_tools: int) -> list[ApiRef]:
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("the endpoint is gone")
        return [API.ref]


def running(queries: Sequence[Query]) -> Run:
    return run_of(run_config(query_ids=tuple(one.query_id for one in queries)), status="running")


async def test_choices_that_were_made_before_one_fails_are_kept(tmp_path: Path) -> None:
    queries = [Query(query_id=number, text="?", apis=(API,)) for number in (1, 2, 3)]
    run, by_id = running(queries), {one.query_id: one for one in queries}
    with Store.open(str(tmp_path / "store.db")) as store:
        store.create_run(run)
        tools = RunTools(run, lambda: [API], by_id, store, lambda _: Failing())
        with pytest.raises(ToolsNotChosen, match="gone"):
            await tools(120, 1)
        assert sorted(store.selections("r", [1, 2, 3], 120)) == [1, 2]


async def test_a_run_that_goes_on_has_its_next_queries_chosen_first(tmp_path: Path) -> None:
    queries = [Query(query_id=number, text="?", apis=(API,)) for number in range(AT_ONCE + 2)]
    run, by_id = running(queries), {one.query_id: one for one in queries}
    with Store.open(str(tmp_path / "store.db")) as store:
        store.create_run(run)
        await RunTools(run, lambda: [API], by_id, store, lambda _: Failing())(120, AT_ONCE + 1)
        assert sorted(store.selections("r", list(by_id), 120)) == [AT_ONCE, AT_ONCE + 1]


class Stored:
    """A store that has the tools of all queries, or none."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[int | str] = []
        self.error = error

    def selections(self, _run_id: str, ids: Sequence[int | str], _most: int) -> dict[int | str, tuple[ToolSpec, ...]]:
        self.asked.append(ids[0])
        if self.error is not None:
            raise self.error
        return {query_id: (TOOL.model_copy(update={"name": f"of_{query_id}"}),) for query_id in ids}


def stored_tools(parts: int, store: Stored) -> RunTools:
    run = run_of(run_config(query_ids=tuple(range(parts * AT_ONCE))), status="running")
    return RunTools(run, list, {}, cast("Store", store), lambda _: Failing())


async def test_parts_are_read_once_while_trials_are_about_them() -> None:
    store = Stored()
    tools = stored_tools(5, store)
    found = await asyncio.gather(*(tools(120, number) for number in range(AT_ONCE + 10)))
    assert [one.name for (one,) in found] == [f"of_{number}" for number in range(AT_ONCE + 10)]
    assert store.asked == [0, AT_ONCE]


async def test_parts_that_were_read_long_ago_are_read_again() -> None:
    store = Stored()
    tools = stored_tools(8, store)
    for part in [0, *range(1, KEPT + 1), 1, 0]:
        assert len(await tools(120, part * AT_ONCE)) == 1
    assert store.asked == [part * AT_ONCE for part in [*range(KEPT + 1), 0]]


async def test_a_choice_that_fails_is_not_made_again_for_the_trials_that_wait() -> None:
    store = Stored(RuntimeError("the endpoint is gone"))
    tools = stored_tools(2, store)

    async def trial(query_id: int) -> None:
        with pytest.raises(ToolsNotChosen, match="gone"):
            await tools(120, query_id)

    await asyncio.gather(*(trial(query_id) for query_id in range(AT_ONCE - 8, AT_ONCE + 8)))
    assert store.asked == [0]
