"""The calls that scripted models play, and the tools that a selector chooses for a run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.trials import ended, run_config, run_of

from trialbed.contracts import ToolSelector
from trialbed.engine import Lanes, Outage, RunProgress, RunTools, ToolsNotChosen, gold_script
from trialbed.errors import DataError
from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query, ToolSpec, TrialKey, TrialResult
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
MADE_UP = {"id": 12, "prose": 1, "empty": "example", "from": "here", "kind": "a"}


@for_each(
    ("call", "played"),
    [
        (GoldCall(api=API.ref, arguments={"id": 5}), [("Stars_by_id", {"id": 5})]),
        (GoldCall(api=API.ref), [("Stars_by_id", MADE_UP)]),
        (GoldCall(api=OTHER.ref), []),  # it is not offered
    ],
)
def test_the_datasets_arguments_are_played_else_defaults_of_the_right_type_else_examples(
    call: GoldCall, played: list[Any]
) -> None:
    query = Query(query_id=1, text="?", apis=(API, OTHER), gold_calls=(call,))
    assert [(one.name, one.arguments) for one in gold_script(query, [TOOL])] == played


class Failing(ToolSelector):
    """Fails at its third query."""

    asked = 0

    def select(self, query: Query, *, max_tools: int) -> list[ApiRef]:
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("the endpoint is gone")
        return [API.ref]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "store.db")) as opened:
        opened.create_run(run_of(run_config(query_ids=(1, 2, 3, 4)), status="running"))
        yield opened


async def test_choices_that_were_made_before_one_fails_are_kept(store: Store) -> None:
    queries = {number: Query(query_id=number, text="?", apis=(API,)) for number in (1, 2, 3, 4)}
    tools = RunTools(store.run("r"), lambda: [API], queries, store, lambda _: Failing())
    with pytest.raises(ToolsNotChosen, match="gone"):
        await tools(120, 1)
    assert sorted(store.selections("r", [*queries], 120)) == [1, 2]


async def test_trials_under_way_are_kept_if_the_tools_of_another_cannot_be_chosen(store: Store) -> None:
    failed = asyncio.Event()

    async def runner(key: TrialKey, attempt: int) -> TrialResult:
        if key.query_id == 2:
            failed.set()
            raise ToolsNotChosen(DataError("the endpoint of the selector is gone"))
        await failed.wait()
        return ended().model_copy(update={"key": key, "attempt": attempt})

    outage = Outage(measured=True, key_variable="KEY")
    given: Any = {"outage": outage, "lost": Counter(), "progress": RunProgress(), "ended": lambda _: None}
    lanes = Lanes(store, "r", slots=2, ambient=True, **given)
    due = [(TrialKey(framework="reference", query_id=query), 0) for query in (1, 2, 3, 4)]
    with pytest.raises(DataError, match="endpoint of the selector is gone"):
        await lanes.run(runner, due)  # type: ignore[arg-type] # stands for the trials of a run
    assert [one.key.query_id for one in store.each_attempt_summary("r")] == [1]
