"""One trial, in this process."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from typing import ClassVar

import pytest
from support.cases import for_each

from trialbed import Answer, BaseAgent, ModelFailed
from trialbed.errors import AnswerError
from trialbed.records import ApiRef, Limits, ModelEndpoint, ToolSpec, TrialKey, TrialSpec
from trialbed.tools import ToolClient
from trialbed.worker import WorkerTrial
from trialbed.worker._loop import failure_of, seed_random_state

API = ApiRef(category="Weather", tool_name="Weather", api_name="now")
CLOSING = 0.2
SPEC = TrialSpec(
    trial="trial-000001",
    key=TrialKey(framework="recorder", query_id=1),
    query="Is it raining?",
    system_prompt="Be brief.",
    tools=(ToolSpec(name="Weather_now", description="now", parameters={"type": "object"}, api=API),),
    endpoint=ModelEndpoint(base_url="http://gateway/v1", api_key="k", model="m", seed=5),
    limits=Limits(max_steps=3),
    server_url="http://server/virtual",
)


class Recorder(BaseAgent):
    """Writes down how it is used."""

    contract = "3"
    log: ClassVar[list[object]] = []

    @classmethod
    def framework_version(cls):
        return "1"

    def bind_tools(self, tools, *, server_url):
        self.tools = tools
        self.log.append(("bind", [tool.name for tool in tools], server_url))

    async def answer(self, query):
        self.log.append(("answer", query, self.system_prompt, self.limits.max_steps, self.endpoint.model))
        return Answer(final_answer=await self.tools[0].ainvoke({"city": "Oslo"}), finish="give_answer")

    def close(self):
        self.log.append("close")


async def run(agent_class, spec=SPEC):
    class Raining(ToolClient):
        async def post(self, url, body):
            return 200, b'{"error": "", "response": "rain"}'

    trial = WorkerTrial(spec, lambda: None)
    try:
        return await trial.run(agent_class, Raining())
    except Exception as error:  # noqa: BLE001 - as the worker does
        return trial.failed(error)


async def test_processor_time_counts_from_the_binding_of_the_tools_to_the_answer(monkeypatch):
    spent = 0.0

    class Busy(BaseAgent):
        contract = "3"

        def __init__(self, *arguments, **named):
            nonlocal spent
            super().__init__(*arguments, **named)
            spent += 1

        @classmethod
        def framework_version(cls):
            return "1"

        def bind_tools(self, tools, *, server_url):
            nonlocal spent
            spent += 10

        def answer(self, query):
            nonlocal spent
            spent += 100
            if query is None:
                raise ValueError
            return Answer(final_answer="")

        def close(self):
            nonlocal spent
            spent += 1000

    monkeypatch.setattr("trialbed.worker._loop._processor_time", lambda: spent)
    assert (await run(Busy)).cpu_time == 110
    failed = await run(Busy, SPEC.model_copy(update={"query": None}))
    assert (failed.failure.kind, failed.cpu_time) == ("agent", 110)


async def test_an_agent_is_bound_asked_and_closed_once():
    Recorder.log = []
    outcome = await run(Recorder)
    assert outcome.answer == Answer(final_answer="rain", finish="give_answer")
    assert Recorder.log == [
        ("bind", ["Weather_now"], "http://server/virtual"),
        ("answer", "Is it raining?", "Be brief.", 3, "m"),
        "close",
    ]
    assert outcome.wall_time > 0


async def test_the_clock_runs_while_the_agent_works_and_stops_when_it_fails():
    class Failing(Recorder):
        async def answer(self, query):
            raise ValueError("no")

        def close(self):
            self.log.append("close")

    Recorder.log = []
    trial = WorkerTrial(SPEC, lambda: None, Recorder.log.append)
    with pytest.raises(ValueError, match="no"):
        await trial.run(Failing, ToolClient())
    assert Recorder.log == [True, ("bind", ["Weather_now"], "http://server/virtual"), False, "close"]


async def test_an_agent_that_fails_is_closed():
    class Failing(Recorder):
        async def answer(self, query):
            raise ValueError("no")

    Recorder.log = []
    outcome = await run(Failing)
    assert Recorder.log[-1] == "close"
    assert outcome.failure.kind == "agent"
    assert "in answer" in outcome.failure.detail


async def test_an_answer_given_without_async_may_still_be_awaitable():
    class Lazy(Recorder):
        def answer(self, query):
            return super().answer(query)

    assert (await run(Lazy)).answer is not None


async def test_closing_may_be_async():
    class Slow(Recorder):
        async def close(self):
            await asyncio.sleep(0)
            self.log.append("closed later")

    Recorder.log = []
    await run(Slow)
    assert Recorder.log[-1] == "closed later"


async def test_closing_is_not_part_of_the_wall_time():
    class Patient(Recorder):
        async def close(self):
            await asyncio.sleep(CLOSING)

    began = time.perf_counter()
    outcome = await run(Patient)
    assert time.perf_counter() - began - outcome.wall_time >= CLOSING * 0.99


def test_the_seed_sets_every_global_random_state(monkeypatch):
    class FakeRandom:
        @staticmethod
        def seed(value):
            seeds.append(value)

    seeds: list[int] = []
    monkeypatch.setitem(sys.modules, "numpy", type("numpy", (), {"random": FakeRandom}))
    seed_random_state(2**40 + 3)
    first = random.random()
    seed_random_state(2**40 + 3)
    assert random.random() == first
    assert seeds == [3, 3]


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
    ],
)
def test_exceptions_are_failures(error, kind, message):
    failure = failure_of(error)
    assert (failure.kind, failure.message) == (kind, message)
    failure.model_dump_json()


def test_failures_hold_no_secrets(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "0123456789abc")
    assert "0123456789abc" not in failure_of(ValueError("bad token 0123456789abc")).model_dump_json()


async def test_an_answer_stays_however_its_agent_closes():
    class Raising(Recorder):
        def close(self):
            raise ValueError("closed already")

    class Leaving(Recorder):
        async def close(self):
            sys.exit(3)

    for agent, error in ((Raising, "closed already"), (Leaving, "3")):
        trial = WorkerTrial(SPEC.model_copy(update={"tools": ()}), lambda: None)
        agent.answer = plainly
        outcome = await trial.run(agent, ToolClient())
        assert (outcome.answer, outcome.failure) == (Answer(final_answer="rain"), None)
        assert str(trial.close_error) == error


async def plainly(self, query):
    return Answer(final_answer="rain")
