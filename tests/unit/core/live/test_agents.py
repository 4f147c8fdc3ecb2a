from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import NothingMeasured, UsageError
from trialbed.live import LiveExecutor
from trialbed.records import Answer, ApiRef, Failure, Limits, ModelEndpoint, Outcome, ToolSpec, TrialKey, TrialSpec

REF = ApiRef(category="Data", tool_name="Stars", api_name="by_id")


def spec(timeout: float = 5.0) -> TrialSpec:
    root = "http://127.0.0.1:9/t/x"
    return TrialSpec(
        trial="x",
        key=TrialKey(framework="mine", query_id=1),
        query="How many?",
        system_prompt="",
        tools=(ToolSpec(name="Stars_by_id", description="", parameters={"type": "object"}, api=REF),),
        endpoint=ModelEndpoint(base_url=f"{root}/v1", api_key="k", model="m"),
        limits=Limits(timeout=timeout),
        server_url=f"{root}/virtual",
    )


def document(text: str) -> dict[str, Any]:
    return {"answer": {"final_answer": text, "answer_details": []}, "called_apis": [["Stars", "by_id"]]}


async def outcome_of(agent: Any, **limits: float) -> Outcome:
    """Run a trial of an agent, or of an executor's."""
    executor = agent if isinstance(agent, LiveExecutor) else LiveExecutor({"mine": agent})
    return await executor.execute(spec(**limits))


async def failure_of(agent: Any, **limits: float) -> Failure:
    outcome = await outcome_of(agent, **limits)
    assert outcome.failure is not None
    return outcome.failure


async def answer_of(agent: Any, **limits: float) -> Answer:
    outcome = await outcome_of(agent, **limits)
    assert outcome.answer is not None, outcome.failure
    return outcome.answer


class Bare:
    def answer(self, query: str) -> dict[str, Any]:
        return document(query)


class Async:
    async def answer(self, query: str) -> dict[str, Any]:
        return document("async " + query)


async def test_an_async_agent_that_hangs_is_cancelled_and_the_run_goes_on() -> None:
    class Hanging:
        async def answer(self, query: str) -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

    executor = LiveExecutor({"mine": Hanging()})
    for _ in range(2):
        assert (await failure_of(executor, timeout=0.05)).kind == "timeout"


async def test_a_thread_that_hangs_ends_the_run_since_nothing_can_kill_it() -> None:
    release = threading.Event()

    class Hanging:
        def answer(self, query: str) -> dict[str, Any]:
            release.wait()
            return {}

    executor = LiveExecutor({"mine": Hanging()})
    try:
        assert (await failure_of(executor, timeout=0.05)).kind == "timeout"
        with pytest.raises(NothingMeasured, match="cannot be killed"):
            await executor.execute(spec())
    finally:
        release.set()


async def test_time_spent_waiting_for_the_endpoint_moves_the_deadline() -> None:
    asked: list[str] = []
    go_on = threading.Event()

    class Waiting(Async):
        async def answer(self, query: str) -> dict[str, Any]:
            await asyncio.to_thread(go_on.wait)
            return document(query)

    async def waited(trial: str) -> float:
        asked.append(trial)
        go_on.set()
        return 60.0

    executor = LiveExecutor({"mine": Waiting()})
    executor.waited = waited
    await answer_of(executor, timeout=0.01)
    assert set(asked) == {"x"}


@pytest.mark.parametrize(
    "agent", [lambda tools, query: query, lambda *anything: anything[0], lambda query, **more: query]
)
async def test_the_query_is_found_by_its_name_or_comes_first(agent: Any) -> None:
    assert (await answer_of(agent)).final_answer == "How many?"


async def test_an_answer_stays_however_its_agent_closes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Raising(Bare):
        def close(self) -> None:
            raise ValueError("closed already")

    class Waiting(Bare):
        async def close(self) -> None:
            await asyncio.Event().wait()

    class Endless(Bare):
        def close(self) -> None:
            while True:
                pass

    class Holding(Endless):
        async def close(self) -> None:  # type: ignore[override] # either is an agent's
            super().close()

    for agent, seconds, problem in (
        (Raising, 60, f'close() raised ValueError: closed already (File "{__file__}", line '),
        (Waiting, 0.1, "close() did not return within 0.1 s;"),
        (Endless, 0.2, f'close() did not return within 0.2 s (File "{__file__}", line '),
        (Holding, 0.2, f'close() did not return within 0.2 s (File "{__file__}", line '),
    ):
        caplog.clear()
        monkeypatch.setattr("trialbed.live._agents.CLOSING_SECONDS", seconds)
        async with LiveExecutor({"mine": agent}) as executor:
            await answer_of(executor)
        assert problem in caplog.text


async def test_code_in_python_is_ended_where_it_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions and objects, async or not, which hold neither the run nor their later trials."""
    monkeypatch.setattr("trialbed.foreign_code.GRACE", 0.2)
    again: list[str] = []

    def endless(query: str) -> str:
        again.append(query)
        while len(again) < 2:
            pass
        return query

    async def endless_too(query: str) -> str:
        return endless(query)

    async def stubborn(query: str) -> str:
        again.append(query)
        while len(again) < 2:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return query

    for answering in (endless, endless_too, stubborn):
        for agent in (answering, SimpleNamespace(answer=answering)):
            again.clear()
            async with LiveExecutor({"mine": agent}) as executor:
                failure = await failure_of(executor, timeout=0.1)
                assert failure.kind == "timeout"
                assert answering is stubborn or f'(File "{__file__}", line ' in failure.message
                await answer_of(executor)


@for_each(
    ("agent", "says"),
    [
        (3, "mine: int is not an agent"),
        (dict, "mine: type is not an agent"),
        (
            lambda query, secret: "",
            "mine: unknown parameter 'secret' of .*; agents get what their parameters name: tools, ",
        ),
        (lambda query, *, secret: "", "mine: unknown parameter 'secret'"),
    ],
)
def test_what_is_no_agent_is_said(agent: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        LiveExecutor({"mine": agent})
