"""One trial: when its log is asked for, and which failed trials are repeated in a fresh worker."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from support.trials import cells_of, run_config

from trialbed.contracts import Executor, Judge, LostTrial, OpenedModel, Verdict
from trialbed.engine._trial import TrialRunner
from trialbed.prices import read_prices
from trialbed.records import (
    Answer,
    ApiRef,
    Expected,
    Failure,
    FrameworkInfo,
    GoldCall,
    IntegrityFinding,
    ModelCall,
    Outcome,
    Query,
    ToolSpec,
    TrialKey,
    TrialRegistration,
    TrialSpec,
    Usage,
    WireLog,
)
from trialbed.scoring import CheckResult, ScoringStopped
from trialbed.store import new_run

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = ModelCall(started=0, duration=0, status=200, request="", response="", request_bytes=0, response_bytes=0)


class Control:
    """Knows which trials were opened and closed, and that their agents asked the model."""

    url = "http://server"

    def __init__(self, *calls: ModelCall) -> None:
        self.calls = calls
        self.opened: list[str] = []
        self.kinds: dict[str, object] = {}
        self.registrations: dict[str, TrialRegistration] = {}
        self.closed: list[str] = []

    async def open_trial(self, registration, kind):
        self.opened.append(registration.trial)
        self.kinds[registration.trial], self.registrations[registration.trial] = kind, registration

    async def close_trial(self, trial):
        self.closed.append(trial)
        return WireLog(trial=trial, opened_at=NOW, model_calls=self.calls)


class Workers(Executor):
    """Fails in a worker that has run other trials, and answers in a fresh one."""

    reuses_workers = True

    def __init__(self, kind="crash", *, first=False) -> None:
        super().__init__()
        self.failure = Failure(kind=kind, message="Too many open files")
        self.first = first
        self.specs: list[TrialSpec] = []

    async def __aexit__(self, kind, error, trace):
        """Nothing to end."""

    async def describe(self, framework):
        return FrameworkInfo(name=framework, version="1", adapter="a", adapter_version="1", python="3")

    async def execute(self, spec):
        self.specs.append(spec)
        if spec.fresh:
            return Outcome(started_at=NOW, wall_time=1, answer=Answer(final_answer="yes"), first=True)
        return Outcome(started_at=NOW, wall_time=1, failure=self.failure, first=self.first)


class Turns(Workers):
    """Notes when a trial's agent works, which may end once it is let go."""

    def __init__(self, events) -> None:
        super().__init__()
        self.events = events
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()

    async def execute(self, spec):
        self.events.append(("begun", spec.trial))
        self.begun.set()
        await self.let_go.wait()
        return Outcome(started_at=NOW, wall_time=1, answer=Answer(final_answer="yes"), first=True)


TOOL = ToolSpec(
    name="weather",
    description="",
    parameters={"type": "object"},
    api=ApiRef(category="C", tool_name="T", api_name="weather"),
)


GOLD = GoldCall(api=TOOL.api)


class NotedControl(Control):
    """Notes when a trial's log is asked for, which is there a moment later."""

    def __init__(self, events) -> None:
        super().__init__()
        self.events = events

    async def close_trial(self, trial):
        self.events.append(("log asked for", trial))
        await asyncio.sleep(0)
        return await super().close_trial(trial)


async def run(executor, control, scored=None, processes=None):
    return await runner_of(executor, control, scored, processes)(TrialKey(framework="f", query_id=1))


async def offer(most, _query):
    return (TOOL,) if most == 5 else ()


def runner_of(executor, control, scored=None, processes=None):
    async def score(context):
        return scored(context) if scored else ()

    (first,) = cells_of("f", temperature=0.0)
    own = {"label": "f@partial", "model": "scripted:partial", "temperature": 0.7, "told_model": "partial"}
    few = {"label": "f@max_tools=5", "max_tools": 5}
    config = run_config(first, *(first.model_copy(update=update) for update in (own, few)), adapter_versions={})
    return TrialRunner(
        run=new_run(config, "d"),
        queries={1: Query(query_id=1, text="?", apis=())},
        tools=offer,
        simulator="template",
        control=control,
        executors=dict.fromkeys(config.frameworks, executor),
        listeners=SimpleNamespace(notify=lambda *event, **details: None, score=score),
        judge=None,
        models={name: OpenedModel(model=name) for name in config.models},
        slots=asyncio.Semaphore(1),
        processes=processes,
    )


async def test_a_framework_with_settings_of_its_own_is_the_same_agent_with_these() -> None:
    executor, control = Workers(), Control(ASKED)
    runner = runner_of(executor, control)
    await runner(TrialKey(framework="f", query_id=1))
    result = await runner(TrialKey(framework="f@partial", query_id=1))
    assert result.key.framework == "f@partial"
    assert [spec.key.framework for spec in executor.specs] == ["f", "f"]
    assert [(spec.endpoint.model, spec.endpoint.temperature) for spec in executor.specs] == [
        ("gpt-4o", 0.0),
        ("partial", 0.7),
    ]
    assert [(one.model, one.model_name) for one in control.registrations.values()] == [
        ("scripted:gold", "gpt-4o"),
        ("scripted:partial", "partial"),
    ]
    assert len(set(control.kinds.values())) == 2, "the server would open the one like the other"
    result = await runner(TrialKey(framework="f@max_tools=5", query_id=1))
    assert (result.selected_tools, executor.specs[-1].tools) == (("weather",), (TOOL,))
    assert [*control.registrations.values()][-1].tools == (TOOL,)
    assert len(set(control.kinds.values())) == 3


async def test_a_log_is_asked_for_before_the_next_agent_works():
    events = []
    executor = Turns(events)
    executor.let_go.set()
    runner = runner_of(executor, NotedControl(events))
    await asyncio.gather(*(runner(TrialKey(framework="f", query_id=1, repeat=repeat)) for repeat in range(2)))
    (_, first), (_, second) = (event for event in events if event[0] == "begun")
    assert events == [
        ("begun", first),
        ("log asked for", first),
        ("begun", second),
        ("log asked for", second),
    ]


async def test_trials_that_are_broken_off_are_closed_whether_they_have_begun_or_wait():
    events = []
    executor, control = Turns(events), NotedControl(events)
    runner = runner_of(executor, control)
    trials = [asyncio.create_task(runner(TrialKey(framework="f", query_id=1, repeat=repeat))) for repeat in range(2)]
    await executor.begun.wait()
    for trial in trials:
        trial.cancel()
    await asyncio.wait(trials)
    assert all(trial.cancelled() for trial in trials)
    assert len(control.opened) == 2
    assert sorted(control.closed) == sorted(control.opened)


async def test_the_tools_of_a_trial_are_ended_also_where_its_log_cannot_be_had():
    ended = []

    class Callbacks:
        url = None

        def open(self, trial, query, observe):
            """Nothing is made."""

        def apis(self, query):
            return ()

        async def close(self, trial):
            ended.append(trial)
            return None, None

    class Broken(Control):
        async def close_trial(self, trial):
            raise RuntimeError("no such log")

    executor = Workers()
    runner = replace(runner_of(executor, Broken()), callbacks=Callbacks())
    with pytest.raises(RuntimeError, match="no such log"):
        await runner(TrialKey(framework="f", query_id=1))
    assert ended == [spec.trial for spec in executor.specs]


async def test_a_failure_before_the_model_was_asked_is_repeated_in_a_fresh_worker_and_kept():
    executor, control = Workers(), Control()
    result = await run(executor, control)
    assert [spec.fresh for spec in executor.specs] == [False, True]
    assert control.opened == control.closed == [spec.trial for spec in executor.specs]
    assert len(set(control.opened)) == 2
    assert result.trial == control.opened[1]
    assert result.outcome.answer is not None
    assert [outcome.failure for outcome in result.earlier] == [executor.failure]


async def test_a_tool_that_breaks_in_the_server_leaves_the_trial_not_measured():
    broken = Failure(kind="tool", message='Weather raised KeyError: 5 (File "weather.py", line 7)', detail="Traceback")

    class Server(Control):
        async def close_trial(self, trial):
            return (await super().close_trial(trial)).model_copy(update={"failure": broken})

    for executor in (Workers(first=True), Turns([])):
        if isinstance(executor, Turns):
            executor.let_go.set()
        result = await run(executor, Server(ASKED))
        assert (result.status, result.outcome.failure, result.scores) == ("not measured", broken, ())
        assert result.gold_calls is None


class Answering(Workers):
    """Answers at once."""

    def __init__(self, text) -> None:
        super().__init__()
        self.text = text

    async def execute(self, spec):
        return Outcome(started_at=NOW, wall_time=1, answer=Answer(final_answer=self.text), first=True)


async def test_an_answer_of_more_than_half_a_million_characters_has_failed_and_keeps_its_beginning():
    longest = await run(Answering("x" * 500_000), Control(ASKED))
    assert longest.status == "answered"
    longer = await run(Answering("x" * 500_000 + "y"), Control(ASKED), pytest.fail)
    message = "the answer has 500,001 characters; answers of more than 500,000 are not judged"
    assert (longer.status, longer.outcome.failure) == ("failed", Failure(kind="answer", message=message))
    assert longer.outcome.answer.final_answer == "x" * 500_000


async def test_texts_that_cannot_be_scored_within_the_limits_cost_their_trial():
    def stops(context):
        raise ScoringStopped("takes more than 60 s of work")

    result = await run(Answering("42"), Control(ASKED), stops)
    message = "the answer and the results of its calls could not be scored: that takes more than 60 s of work"
    assert (result.status, result.scores) == ("failed", ())
    assert result.outcome.failure == Failure(kind="answer", message=message)
    assert result.outcome.answer.final_answer == "42"


async def test_a_judge_is_asked_for_the_criteria_of_a_task():
    class Reading(Judge):
        async def judge(self, query, answer, wire):
            raise AssertionError("only the criterion is asked for")

        async def meets(self, criterion, query, answer, wire):
            return Verdict(status="Solved", value=1.0, reason=f"{criterion} it is", votes=("Solved",))

    found = []

    def scored(context):
        found.extend(context.checks)
        return ()

    runner = runner_of(Answering("42"), Control(ASKED), scored)
    query = Query(query_id=1, text="?", apis=(), expected=Expected(criteria=("polite",)))
    runner = replace(runner, queries={1: query}, judge=Reading())
    await runner(TrialKey(framework="f", query_id=1))
    assert found == [CheckResult("criterion: polite", True, "polite it is")]


async def test_a_large_log_is_examined_in_a_process_and_costs_its_trial_at_most():
    class Processes:
        stops = False

        async def call(self, function, *arguments, **named):
            if self.stops:
                raise ScoringStopped("takes more than 60 s of work")
            found, gold_calls = function(*arguments, **named)
            return (*found, IntegrityFinding(kind="other_model", count=7)), gold_calls

    processes = Processes()
    large = ASKED.model_copy(update={"response": "x" * 1_000_001})
    assert (await run(Answering("42"), Control(ASKED), processes=processes)).integrity == ()
    (found,) = (await run(Answering("42"), Control(large), processes=processes)).integrity
    assert found.count == 7
    processes.stops = True
    runner = runner_of(Answering("42"), Control(large), processes=processes)
    runner.queries[1] = Query(query_id=1, text="?", apis=(), gold_calls=(GOLD,))
    stopped = await runner(TrialKey(framework="f", query_id=1))
    assert (stopped.status, stopped.scores, stopped.integrity) == ("failed", (), ())
    assert stopped.outcome.failure.message.endswith("takes more than 60 s of work")
    assert [(call.gold, call.lost) for call in stopped.gold_calls] == [(GOLD, "trial failed")]
    crashed = await run(Workers(first=True), Control(large), processes=processes)
    assert crashed.outcome.failure.kind == "crash"


async def test_a_trial_ends_with_the_facts_that_reports_need():
    """They are computed once, while other trials run, and not when each report is made."""
    usage = Usage(prompt_tokens=3, completion_tokens=4)
    asked = ASKED.model_copy(update={"usage": usage})
    runner = runner_of(Answering("42"), Control(asked, asked.model_copy(update={"other_model": "strong"})))
    runner.queries[1] = Query(query_id=1, text="?", apis=(), gold_calls=(GOLD,))
    runner = replace(runner, run=runner.run.model_copy(update={"prices": {"scripted:gold": read_prices("1,2")}}))
    result = await runner(TrialKey(framework="f", query_id=1))
    assert [(call.gold, call.lost) for call in result.gold_calls] == [(GOLD, "not offered")]
    assert result.absent == ("argument_accuracy", "tool_call_f1", "tool_call_accuracy", "final_state")
    assert result.cost == pytest.approx((3 + 2 * 4) / 1_000_000), "the price of the other model is not known"
    unmeasured = await run(Workers("endpoint", first=True), Control())
    assert (unmeasured.gold_calls, unmeasured.cost) == (None, None)


@pytest.mark.parametrize(("size", "apart"), [(1_000, False), (100_000, True)])
async def test_a_log_that_takes_long_is_read_for_integrity_in_a_thread(monkeypatch, size, apart):
    threads = []

    def findings(*_, **__):
        threads.append(threading.current_thread())
        return ()

    monkeypatch.setattr("trialbed.engine._trial.integrity_findings", findings)
    await run(Answering("42"), Control(ASKED.model_copy(update={"response": "x" * size})))
    assert [thread is not threading.current_thread() for thread in threads] == [apart]


@pytest.mark.parametrize(
    ("executor", "calls"),
    [
        (Workers(first=True), ()),
        (Workers(), (ASKED,)),
        (Workers("server"), ()),
        (type("Others", (Workers,), {"reuses_workers": False})(), ()),
    ],
    ids=["fresh worker", "model asked", "not the worker's", "no reuse"],
)
async def test_no_other_failure_gets_a_second_try(executor, calls):
    control = Control(*calls)
    result = await run(executor, control)
    assert len(executor.specs) == len(control.opened) == 1
    assert result.outcome.failure == executor.failure
    assert result.earlier == ()


async def test_a_lost_trial_has_the_time_at_which_it_ran() -> None:
    class Losing(Workers):
        async def execute(self, spec):
            self.began = datetime.now(UTC)
            await asyncio.sleep(0)
            return LostTrial("west", "its plug was pulled")

    executor = Losing()
    outcome = (await run(executor, Control())).outcome
    assert outcome.failure.kind == "lost"
    assert outcome.started_at <= executor.began
    assert outcome.wall_time > 0
