from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.trials import run_config, run_of

from trialbed.contracts import ToolSelector
from trialbed.engine._gold import gold_script
from trialbed.engine._offers import AT_ONCE
from trialbed.engine._tools import select_tools
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
        with pytest.raises(RuntimeError, match="gone"):
            await select_tools(run, lambda: [API], by_id, store, lambda _: Failing(), 1)
        assert sorted(store.selections("r", [1, 2, 3], 120)) == [1, 2]


async def test_a_run_that_goes_on_has_its_next_queries_chosen_first(tmp_path: Path) -> None:
    queries = [Query(query_id=number, text="?", apis=(API,)) for number in range(AT_ONCE + 2)]
    run, by_id = running(queries), {one.query_id: one for one in queries}
    with Store.open(str(tmp_path / "store.db")) as store:
        store.create_run(run)
        await select_tools(run, lambda: [API], by_id, store, lambda _: Failing(), AT_ONCE + 1)
        assert sorted(store.selections("r", list(by_id), 120)) == [AT_ONCE, AT_ONCE + 1]
