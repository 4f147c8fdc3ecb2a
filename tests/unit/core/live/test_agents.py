from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import NothingMeasured, ServerUnavailable, UsageError
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


class Bound(Bare):
    bound: Any = None

    def bind_tools(self, *, tools: Any, server_url: str) -> None:
        self.bound = [tool.name for tool in tools], server_url


class Async:
    async def answer(self, query: str) -> dict[str, Any]:
        return document("async " + query)


async def test_a_bare_object_answers_and_its_claims_are_read() -> None:
    answer = await answer_of(Bare())
    assert answer.final_answer == "How many?"
    assert [call.api for call in answer.calls] == [REF]
    assert (await outcome_of(Bare())).wall_time > 0


async def test_tools_are_bound_where_the_object_takes_them() -> None:
    agent = Bound()
    await answer_of(agent)
    assert agent.bound == (["Stars_by_id"], "http://127.0.0.1:9/t/x/virtual")


@pytest.mark.parametrize(
    ("error", "kind"), [(ValueError("bad"), "agent"), (TimeoutError("its own"), "agent"), (SystemExit(3), "agent")]
)
async def test_what_the_agent_raises_is_its_trials_failure(error: BaseException, kind: str) -> None:
    class Raising:
        def answer(self, query: str) -> dict[str, Any]:
            raise error

    failure = await failure_of(Raising())
    assert failure.kind == kind
    assert type(error).__name__ in failure.message
    assert isinstance(error, SystemExit) or f'(File "{__file__}", line ' in failure.message


async def test_a_malformed_answer_is_named() -> None:
    class Malformed:
        def answer(self, query: str) -> dict[str, Any]:
            return {"answer": {"final_answer": "x", "answer_details": [{"role": "tool", "message": "{", "next": []}]}}

    failure = await failure_of(Malformed())
    assert failure.kind == "answer"
    assert "answer_details[0]" in failure.message


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


async def test_a_server_that_does_not_say_how_long_leaves_the_deadline() -> None:
    async def waited(_trial: str) -> float:
        raise ServerUnavailable("gone")

    class Stuck(Async):
        async def answer(self, query: str) -> dict[str, Any]:
            await asyncio.Event().wait()
            return document(query)

    executor = LiveExecutor({"mine": Stuck()})
    executor.waited = waited
    assert (await failure_of(executor, timeout=0.01)).kind == "timeout"


async def test_a_function_gets_what_its_parameters_name() -> None:
    def asking(
        question: str, /, tools: Any, endpoint: Any, *, model: str, seed: int, limits: Any, more: int = 1
    ) -> str:
        return f"{question} {[tool.name for tool in tools]} {endpoint.base_url} {model} {seed} {limits.timeout} {more}"

    assert (await answer_of(asking)).final_answer == "How many? ['Stars_by_id'] http://127.0.0.1:9/t/x/v1 m 0 5.0 1"


@pytest.mark.parametrize(
    "agent", [lambda tools, query: query, lambda *anything: anything[0], lambda query, **more: query]
)
async def test_the_query_is_found_by_its_name_or_comes_first(agent: Any) -> None:
    assert (await answer_of(agent)).final_answer == "How many?"


async def test_a_class_is_made_and_closed_for_each_trial() -> None:
    made: list[str] = []

    class Fresh:
        def __init__(self, model: str) -> None:
            made.append(model)

        def answer(self, query: str, tools: Any) -> str:
            return f"{query} {len(tools)}"

        async def close(self) -> None:
            made.append("closed")

    executor = LiveExecutor({"mine": Fresh})
    for _ in range(2):
        assert (await answer_of(executor)).final_answer == "How many? 1"
    assert made == ["m", "closed", "m", "closed"]


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


async def test_functions_have_several_trials_at_a_time_and_objects_one() -> None:
    at_once = [0, 0]

    async def counting(query: str) -> str:
        at_once[0] += 1
        at_once[1] = max(at_once)
        await asyncio.sleep(0)
        while at_once[1] < most:  # noqa: ASYNC110 - they may run in several loops
            await asyncio.sleep(0)
        at_once[0] -= 1
        return query

    counter = type("Counting", (), {"answer": staticmethod(counting)})()
    for agent, most in ((counting, 3), (counter, 1)):
        at_once[:] = [0, 0]
        executor = LiveExecutor({"mine": agent})
        await asyncio.gather(*(executor.execute(spec()) for _ in range(3)))
        assert at_once[1] == most


async def test_a_function_that_hangs_costs_its_trial_alone() -> None:
    release = threading.Event()
    try:
        executor = LiveExecutor({"mine": lambda query: release.wait() and query})
        assert (await failure_of(executor, timeout=0.05)).kind == "timeout"
        release.set()
        await answer_of(executor)
    finally:
        release.set()


async def test_what_a_thread_raises_is_the_callers() -> None:
    def stopping(query: str) -> str:
        raise StopIteration("odd")

    failure = await failure_of(stopping)
    assert "StopIteration('odd')" in failure.message


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


async def test_a_trial_whose_event_loop_another_one_holds_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.foreign_code.GRACE", 0.2)

    async def holding(query: str, limits: Limits) -> str:
        if limits.timeout < 1:
            while True:
                pass
        await asyncio.sleep(60)
        return query

    async with LiveExecutor({"mine": holding}) as executor:
        waiting = asyncio.create_task(executor.execute(spec(timeout=60)))
        await asyncio.sleep(0)
        await executor.execute(spec(timeout=0.1))
        failure = (await waiting).failure
    assert failure is not None
    assert failure.kind == "agent"
    assert failure.message.startswith("another trial of this agent, in its event loop, did not return within 0.1 s")


async def test_an_agent_that_ends_its_event_loop_ends_nothing_else() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def leaving(query: str) -> str:
        task = asyncio.create_task(leave())
        await asyncio.wait({task})
        return query

    async with LiveExecutor({"mine": leaving}) as executor:
        for _ in range(2):
            await answer_of(executor)


async def test_an_agent_that_cancels_itself_has_failed_alone() -> None:
    async def giving_up(query: str) -> str:
        raise asyncio.CancelledError

    def giving_up_too(query: str) -> str:
        raise asyncio.CancelledError

    for agent in (giving_up, giving_up_too):
        assert (await failure_of(agent)).kind == "agent"


async def test_an_answer_that_works_when_it_is_read_works_in_the_agents_time() -> None:
    threads: list[threading.Thread] = []

    class Working(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            threads.append(threading.current_thread())
            return super().get(key, default)

        def __getitem__(self, key: str) -> Any:
            threads.append(threading.current_thread())
            return super().__getitem__(key)

    class Lazy:
        async def answer(self, query: str) -> Any:
            return Working(document(query))

    await answer_of(Lazy())
    assert threads
    assert threading.main_thread() not in threads


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
