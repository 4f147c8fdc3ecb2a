"""What a contract gives its implementations for nothing."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed import (
    Answer,
    Api,
    Dataset,
    DatasetDriver,
    Judge,
    Query,
    ScoreContext,
    Simulation,
    Simulator,
    ToolSelector,
    UsageError,
    Verdict,
    WireLog,
    contracts,
)
from trialbed.records import ApiCall, ApiRef, Timing

ABSTRACT = [getattr(contracts, name) for name in contracts.__all__ if inspect.isabstract(getattr(contracts, name))]


class Two(Dataset):
    name = test_set = "two"

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def queries(self) -> Sequence[Query]:
        return [Query(query_id=number, text=text, apis=()) for number, text in enumerate(self._texts)]

    def apis(self) -> Sequence[Api]:
        return []


class Driver(DatasetDriver):
    def test_sets(self, data_dir: Path) -> Sequence[str]:
        return ["two"]

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        return Two("a", "b")


class AlwaysSolved(Judge):
    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        return Verdict(status="Solved", value=1.0, reason="", votes=("Solved",))


class Echo(Simulator):
    provenance = "echo"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response=arguments)


class Nothing(ToolSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return []


@for_each("contract", ABSTRACT, ids=lambda contract: contract.__name__)
def test_a_contract_must_be_implemented(contract: type) -> None:
    with pytest.raises(TypeError, match="abstract"):
        contract()


def test_a_digest_tells_tasks_and_their_order_apart() -> None:
    digest = Two("a", "b").digest()
    assert digest == Two("a", "b").digest()
    assert len({digest, Two("b", "a").digest(), Two("a").digest(), Two("a", "b", "c").digest()}) == 4


def test_a_dataset_is_simulated_by_the_template() -> None:
    assert Two().simulator == "template"


def test_a_driver_imports_no_folders_unless_it_says_so(tmp_path: Path) -> None:
    assert Driver().recognises(tmp_path) is False
    with pytest.raises(UsageError, match="Driver cannot import folders"):
        Driver().import_folder(tmp_path, tmp_path)


async def test_a_judge_has_one_vote_and_nothing_to_close() -> None:
    judge = AlwaysSolved()
    assert (judge.votes, judge.endpoint) == (1, None)
    await judge.close()


def test_answers_of_a_simulator_stay_good() -> None:
    assert Echo().revision(None) == ""


def test_a_selector_needs_no_index() -> None:
    Nothing().prepare([])


def test_called_apis_are_those_on_the_wire_in_order() -> None:
    now = datetime.now(UTC)
    refs = [ApiRef(category="c", tool_name="t", api_name=name) for name in ("b", "a", "b")]
    calls = tuple(ApiCall(started=0, duration=0, api=ref, offered=True, arguments={}) for ref in refs)
    context = ScoreContext(
        query=Two("a").queries()[0],
        tools=(),
        answer=Answer(final_answer=""),
        wire=WireLog(trial="token-token", opened_at=now, api_calls=calls),
        timing=Timing(wall=0, model=0, tool=0, framework=0),
        judge=AlwaysSolved(),
        judge_name="rule",
    )
    assert context.called_apis == tuple(refs)
