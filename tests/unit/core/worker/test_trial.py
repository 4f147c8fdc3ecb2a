"""One trial, in this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from support.cases import for_each

from trialbed import Answer, BaseAgent, ModelFailed, Tool
from trialbed.errors import AnswerError
from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialSpec
from trialbed.tools import ToolClient
from trialbed.worker import WorkerTrial

SPEC = TrialSpec(
    trial="trial-000001",
    key=TrialKey(framework="recorder", query_id=1),
    query="Is it raining?",
    system_prompt="Be brief.",
    tools=(),
    endpoint=ModelEndpoint(base_url="http://gateway/v1", api_key="k", model="m", seed=5),
    limits=Limits(max_steps=3),
    server_url="http://server/virtual",
)


class Recorder(BaseAgent):
    """Writes down how it is used."""

    contract = "3"
    log: ClassVar[list[object]] = []

    @classmethod
    def framework_version(cls) -> str:
        return "1"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        self.log.append(("bind", server_url))

    async def answer(self, query: str) -> Answer:
        self.log.append(("answer", query, self.system_prompt, self.limits.max_steps, self.endpoint.model))
        return Answer(final_answer="rain", finish="give_answer")

    def close(self) -> Any:
        self.log.append("close")


class Failing(Recorder):
    async def answer(self, query: str) -> Answer:
        raise ValueError("no")


class Raising(Recorder):
    def close(self) -> None:
        raise ValueError("closed already")


class Leaving(Recorder):
    async def close(self) -> None:
        sys.exit(3)


@pytest.fixture(autouse=True)
def log() -> list[object]:
    Recorder.log = []
    return Recorder.log


async def test_the_clock_runs_while_the_agent_works_and_stops_when_it_fails(log: list[object]) -> None:
    bound, asked = ("bind", "http://server/virtual"), ("answer", "Is it raining?", "Be brief.", 3, "m")
    outcome = await WorkerTrial(SPEC, lambda: None, log.append).run(Recorder, ToolClient())
    assert (outcome.answer, outcome.wall_time > 0) == (Answer(final_answer="rain", finish="give_answer"), True)
    assert log == [True, bound, asked, False, "close"]
    log.clear()
    with pytest.raises(ValueError, match="no"):
        await WorkerTrial(SPEC, lambda: None, log.append).run(Failing, ToolClient())
    assert log == [True, bound, False, "close"]


@for_each(("agent", "error"), [(Raising, "closed already"), (Leaving, "3")])
def test_an_answer_stays_however_its_agent_closes(agent: type[BaseAgent], error: str) -> None:
    trial = WorkerTrial(SPEC, lambda: None)
    outcome = asyncio.run(trial.run(agent, ToolClient()))
    assert (outcome.answer and outcome.answer.final_answer, outcome.failure) == ("rain", None)
    assert str(trial.close_error) == error


@for_each(
    ("error", "kind", "message"),
    [
        (ValueError("no"), "agent", "ValueError: no"),
        (KeyboardInterrupt(), "agent", "KeyboardInterrupt"),
        (MemoryError(), "memory", "MemoryError"),
        (ModelFailed("down"), "model", "down"),
        (AnswerError("answer: bad"), "answer", "answer: bad"),
        (ValueError("half \ud800"), "agent", "ValueError: half \ufffd"),
        (ValueError("x" * 5000), "agent", "ValueError: " + "x" * 1988),
        (ValueError("bad token 0123456789abc"), "agent", "ValueError: bad token [redacted]"),
    ],
)
def test_exceptions_are_failures_without_secrets(error: BaseException, kind: str, message: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOME_TOKEN", "0123456789abc")
        failure = WorkerTrial(SPEC, lambda: None).failed(error).failure
    assert failure is not None
    assert (failure.kind, failure.message) == (kind, message)
    assert "0123456789abc" not in failure.model_dump_json()
