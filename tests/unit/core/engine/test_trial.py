"""One trial: what its agent and the server are told, and which failed trials are repeated in a fresh worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each
from support.trials import NOW, cells_of, run_config

from trialbed.contracts import Executor, OpenedModel
from trialbed.engine import TrialRunner
from trialbed.prices import read_prices
from trialbed.records import (
    Answer,
    ApiRef,
    Failure,
    FailureKind,
    FrameworkInfo,
    GoldCall,
    ModelCall,
    Outcome,
    Query,
    ToolSpec,
    TrialKey,
    TrialRegistration,
    TrialResult,
    TrialSpec,
    Usage,
    WireLog,
)
from trialbed.scoring import ScoringStopped
from trialbed.store import new_run

ASKED = ModelCall(started=0, duration=0, status=200, request="", response="", request_bytes=0, response_bytes=0)
API = ApiRef(category="C", tool_name="T", api_name="weather")
TOOL = ToolSpec(name="weather", description="", parameters={"type": "object"}, api=API)
GOLD = GoldCall(api=API)
KEY = TrialKey(framework="f", query_id=1)


class Control:
    """Knows which trials were opened and closed, and that their agents asked the model."""

    url = "http://server"

    def __init__(self, *calls: ModelCall, failure: Failure | None = None) -> None:
        self.log = {"opened_at": NOW, "model_calls": calls, "failure": failure}
        self.opened: list[tuple[TrialRegistration, object]] = []
        self.closed: list[str] = []

    async def open_trial(self, registration: TrialRegistration, kind: object) -> None:
        self.opened.append((registration, kind))

    async def close_trial(self, trial: str) -> WireLog:
        self.closed.append(trial)
        return WireLog(trial=trial, **self.log)

    @property
    def trials(self) -> list[str]:
        return [registration.trial for registration, _ in self.opened]


class Workers(Executor):
    """Fails in a worker that has run other trials, and answers in a fresh one; or always answers, if it has a text."""

    reuses_workers = True

    def __init__(self, kind: FailureKind = "crash", *, first: bool = False, text: str = "") -> None:
        super().__init__()
        self.failure = Failure(kind=kind, message="Too many open files")
        self.first, self.text = first, text
        self.specs: list[TrialSpec] = []
        self.begun, self.let_go = asyncio.Event(), asyncio.Event()
        self.let_go.set()

    async def __aexit__(self, *_: object) -> None:
        """Nothing to end."""

    async def describe(self, framework: str) -> FrameworkInfo:
        return FrameworkInfo(name=framework, version="1", adapter="a", adapter_version="1", python="3")

    async def execute(self, spec: TrialSpec) -> Outcome:
        self.specs.append(spec)
        self.begun.set()
        await self.let_go.wait()
        if spec.fresh or self.text:
            return Outcome(started_at=NOW, wall_time=1, answer=Answer(final_answer=self.text or "yes"), first=True)
        return Outcome(started_at=NOW, wall_time=1, failure=self.failure, first=self.first)


def runner_of(
    executor: Executor, control: Any, scored: Callable[[Any], Any] = lambda _: (), calls: Sequence[GoldCall] = ()
) -> TrialRunner:
    async def score(context: Any) -> Any:
        return scored(context)

    async def offer(most: int, _query: int | str) -> tuple[ToolSpec, ...]:
        return (TOOL,) if most == 5 else ()

    (first,) = cells_of("f", temperature=0.0)
    own = {"label": "f@partial", "model": "scripted:partial", "temperature": 0.7, "told_model": "partial"}
    few = {"label": "f@max_tools=5", "max_tools": 5}
    config = run_config(first, *(first.model_copy(update=update) for update in (own, few)), adapter_versions={})
    listeners: Any = SimpleNamespace(notify=lambda *event, **details: None, score=score)
    return TrialRunner(
        run=new_run(config, "d"),
        queries={1: Query(query_id=1, text="?", apis=(), gold_calls=tuple(calls))},
        tools=offer,  # type: ignore[arg-type] # stands for the tools of a run
        simulator="template",
        control=control,
        executors=dict.fromkeys(config.frameworks, executor),
        listeners=listeners,
        judge=None,  # type: ignore[arg-type] # no answer is judged
        models={name: OpenedModel(model=name) for name in config.models},
    )


async def run(executor: Executor, control: Control, **more: Any) -> TrialResult:
    return await runner_of(executor, control, **more)(KEY)


async def test_a_framework_with_settings_of_its_own_is_the_same_agent_with_these() -> None:
    executor, control = Workers(), Control(ASKED)
    runner = runner_of(executor, control)
    labels = ("f", "f@partial", "f@max_tools=5")
    results = [await runner(TrialKey(framework=label, query_id=1)) for label in labels]
    assert [(result.key.framework, result.selected_tools) for result in results] == [
        ("f", ()),
        ("f@partial", ()),
        ("f@max_tools=5", ("weather",)),
    ]
    told = [(spec.key.framework, spec.endpoint.model, spec.endpoint.temperature, spec.tools) for spec in executor.specs]
    assert told == [("f", "gpt-4o", 0.0, ()), ("f", "partial", 0.7, ()), ("f", "gpt-4o", 0.0, (TOOL,))]
    assert [(one.model, one.model_name, one.tools) for one, _ in control.opened] == [
        ("scripted:gold", "gpt-4o", ()),
        ("scripted:partial", "partial", ()),
        ("scripted:gold", "gpt-4o", (TOOL,)),
    ]
    assert len({kind for _, kind in control.opened}) == 3, "the server would open the one like the other"


async def test_trials_that_are_broken_off_are_closed_whether_they_have_begun_or_wait() -> None:
    executor, control = Workers(), Control()
    executor.let_go.clear()
    runner = runner_of(executor, control)
    trials = [asyncio.create_task(runner(KEY.model_copy(update={"repeat": repeat}))) for repeat in range(2)]
    await executor.begun.wait()
    for trial in trials:
        trial.cancel()
    await asyncio.wait(trials)
    assert all(trial.cancelled() for trial in trials)
    assert sorted(control.closed) == sorted(control.trials)
    assert len(control.trials) == 2


async def test_a_failure_before_the_model_was_asked_is_repeated_in_a_fresh_worker_and_kept() -> None:
    executor, control = Workers(), Control()
    result = await run(executor, control)
    assert [spec.fresh for spec in executor.specs] == [False, True]
    assert control.trials == control.closed == [spec.trial for spec in executor.specs]
    assert len(set(control.trials)) == 2
    assert (result.trial, result.outcome.answer) == (control.trials[1], Answer(final_answer="yes"))
    assert [outcome.failure for outcome in result.earlier] == [executor.failure]


@for_each(
    ("executor", "calls"),
    [
        (lambda: Workers(first=True), ()),  # a fresh worker
        (Workers, (ASKED,)),  # the model was asked
        (lambda: Workers("server"), ()),  # it is not the worker's
        (type("Others", (Workers,), {"reuses_workers": False}), ()),  # no worker is used again
    ],
)
def test_no_other_failure_gets_a_second_try(executor: Callable[[], Workers], calls: Sequence[ModelCall]) -> None:
    async def result() -> tuple[Workers, TrialResult]:
        workers = executor()
        return workers, await run(workers, Control(*calls))

    workers, found = asyncio.run(result())
    assert (len(workers.specs), found.outcome.failure, found.earlier) == (1, workers.failure, ())


async def test_a_tool_that_breaks_in_the_server_leaves_the_trial_not_measured() -> None:
    broken = Failure(kind="tool", message='Weather raised KeyError: 5 (File "weather.py", line 7)', detail="Traceback")
    for executor in (Workers(first=True), Workers(text="yes")):
        result = await run(executor, Control(ASKED, failure=broken))
        assert (result.status, result.outcome.failure, result.scores) == ("not measured", broken, ())
        assert result.gold_calls is None


async def test_an_answer_that_is_too_long_or_takes_too_long_to_score_has_failed_and_keeps_its_beginning() -> None:
    def stops(_: Any) -> Any:
        raise ScoringStopped("takes more than 60 s of work")

    assert (await run(Workers(text="x" * 500_000), Control(ASKED))).status == "answered"
    too_long = "the answer has 500,001 characters; answers of more than 500,000 are not judged"
    late = "the answer and the results of its calls could not be scored: that takes more than 60 s of work"
    for text, scored, message in (("x" * 500_000 + "y", pytest.fail, too_long), ("42", stops, late)):
        result = await run(Workers(text=text), Control(ASKED), scored=scored, calls=(GOLD,))
        assert (result.status, result.scores) == ("failed", ())
        assert result.outcome.failure == Failure(kind="answer", message=message)
        assert result.outcome.answer == Answer(final_answer=text.rstrip("y"))
        assert [call.gold for call in result.gold_calls or ()] == [GOLD]


async def test_a_trial_ends_with_the_facts_that_reports_need() -> None:
    asked = ASKED.model_copy(update={"usage": Usage(prompt_tokens=3, completion_tokens=4)})
    control = Control(asked, asked.model_copy(update={"other_model": "strong"}))
    runner = runner_of(Workers(text="42"), control, calls=(GOLD,))
    runner = replace(runner, run=runner.run.model_copy(update={"prices": {"scripted:gold": read_prices("1,2")}}))
    result = await runner(KEY)
    assert [(call.gold, call.lost) for call in result.gold_calls or ()] == [(GOLD, "not offered")]
    assert result.absent == ("argument_accuracy", "tool_call_f1", "tool_call_accuracy", "final_state")
    assert result.cost == pytest.approx((3 + 2 * 4) / 1_000_000), "the price of the other model is not known"
    unmeasured = await run(Workers("endpoint", first=True), Control())
    assert (unmeasured.gold_calls, unmeasured.cost) == (None, None)
