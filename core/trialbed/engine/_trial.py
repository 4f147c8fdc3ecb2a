"""One trial from key to result."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from trialbed.answers import look_up_claims
from trialbed.attribution import attribute
from trialbed.contracts import SYSTEM_PROMPT, Executor, Judge, LostTrial, OpenedModel
from trialbed.engine._control import ControlClient, new_trial_token
from trialbed.engine._failures import classify
from trialbed.engine._gold import gold_script
from trialbed.engine._tools import RunTools
from trialbed.errors import NothingMeasured
from trialbed.integrity import integrity_findings, outside_clock, unnamed_gold
from trialbed.listeners import Listeners
from trialbed.preparation import trial_seed
from trialbed.records import (
    NOT_MEASURED,
    Answer,
    ApiCall,
    AttributedCall,
    Failure,
    IntegrityFinding,
    ModelCall,
    ModelEndpoint,
    Outcome,
    Query,
    Run,
    Score,
    ToolSpec,
    TrialKey,
    TrialRegistration,
    TrialResult,
    TrialSpec,
    WireLog,
    read_fault_plan,
)
from trialbed.scoring import (
    JUDGED,
    LONGEST_ANSWER,
    NOT_OFFERED,
    Check,
    ScoreContext,
    ScoringStopped,
    absent_scores,
    is_short,
    judge_label,
    run_checks,
    trial_size,
)
from trialbed.scoring_process import ScoringProcesses, with_criteria
from trialbed.settings import secret_values
from trialbed.tool_calls import observe_own_tools, unasked_calls
from trialbed.wire.redaction import Redaction, redaction_of
from trialbed.wire_log import compute_timing

if TYPE_CHECKING:
    from trialbed.live import CallbackServer

LOG = logging.getLogger("trialbed.engine")

DUMMY_KEY = "trialbed"
"""The key that agents get. The gateway takes any, the real one stays with the server."""

SAID: dict[int, tuple[Any, set[str]]] = {}
"""Id of an agent of this process -> the agent, which keeps the id taken, and the texts of its conversations."""

LONG = 1_000_000
"""Bytes of a trial's requests that are read in a thread."""


@dataclass(frozen=True)
class TrialRunner:
    """Runs the trials of one run, one call each.

    Attributes:
        executors: label of a framework -> what runs its trials.
        live: label -> an agent that is an object of this process.
        callbacks: answers the calls of Apis that are functions of this process; None without any.
        models: by name, opened. ``cached_as`` has the identities of models in the model cache.
        slots: bounds how many agents work at the same time; only the agent's own work takes a slot.
        ambient: whether requests without a token belong to the trial that is open (agents that run in process).
        processes: read logs that are large; None reads all in this process.
        checks: name -> a function that looks at the trials of the queries that name it.
        shares: whether trials of a query and a model have the same setup; it is then sent to the server once.
        powerless: setup and text of each expectation that cannot fail, once it has been reported.
    """

    run: Run
    queries: Mapping[int | str, Query]
    tools: RunTools
    simulator: str
    control: ControlClient
    executors: Mapping[str, Executor]
    listeners: Listeners
    judge: Judge
    models: Mapping[str, OpenedModel]
    slots: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, 1))
    live: Mapping[str, Any] = field(default_factory=dict)
    callbacks: CallbackServer | None = None
    ambient: bool = False
    cached_as: Mapping[str, str] = field(default_factory=dict)
    processes: ScoringProcesses | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    shares: bool = True
    powerless: set[tuple[str, str]] = field(default_factory=set)

    async def __call__(self, key: TrialKey, attempt: int = 0) -> TrialResult:
        """Run, observe, classify and score one attempt of a trial.

        Raises:
            NothingMeasured: there is no machine for it; it has not begun.
            ToolsNotChosen: its tools could not be chosen.
        """
        spec, outcome, wire, outside = await self._execute(await self._spec(key))
        earlier: tuple[Outcome, ...] = ()
        failed = outcome.failure is not None and outcome.failure.kind not in NOT_MEASURED
        # What earlier trials did to the worker may be why it failed before it asked the model anything.
        asked = wire.model_calls or wire.turns[1:]
        if failed and self.executors[key.framework].reuses_workers and not outcome.first and not asked:
            earlier = (outcome,)
            spec, outcome, wire, outside = await self._execute(await self._spec(key, fresh=True))
        leaked = self._leaked(key, wire)
        outcome = classify(outcome, wire, in_process=self._is_live(key), leaked=leaked)
        timing = compute_timing(outcome.wall_time, wire)
        started = time.perf_counter()
        query, prices = self.queries[key.query_id], self.run.prices_of(key.framework)
        tools = wire.tools_of(spec.tools)
        used = (turn.usage for turn in wire.model_calls if turn.usage is not None and not turn.other_model)
        result = TrialResult(
            trial=spec.trial,
            key=key,
            seed=spec.endpoint.seed,
            outcome=outcome,
            wire=wire,
            timing=timing,
            selected_tools=tuple(tool.name for tool in spec.tools),
            topped_up_tools=tuple(tool.name for tool in spec.tools if tool.topped_up),
            attempt=attempt,
            earlier=earlier,
            absent=absent_scores(query),
            cost=None if prices is None else sum(map(prices.cost, used)),
            adapter_digest=self.run.config.adapter_digests.get(self.run.config.cell(key.framework).framework, ""),
        )
        try:
            scores, compared = await self._scores(result, tools)
            result = result.model_copy(update={"scores": scores})
            integrity, gold_calls = await self._examine(result, compared, tools, outside)
        except ScoringStopped as stopped:
            if outcome.failure is None:
                message = f"the answer and the results of its calls could not be scored: that {stopped}"
                outcome = outcome.model_copy(update={"failure": Failure(kind="answer", message=message)})
            result = result.model_copy(update={"outcome": outcome, "scores": ()})
            lost = partial(AttributedCall, lost="trial failed", reason=f"its log cannot be read: that {stopped}")
            integrity, gold_calls = (), tuple(lost(gold=gold) for gold in query.gold_calls)
        found = {"integrity": integrity, "gold_calls": gold_calls, "evaluation_time": time.perf_counter() - started}
        return result.model_copy(update=found)

    async def _execute(self, spec: TrialSpec) -> tuple[TrialSpec, Outcome, WireLog, Sequence[ModelCall | ApiCall]]:
        """Run and observe a trial; also returns the requests outside of the agent's time.

        A failure of the server costs this trial only.
        """
        before, config = datetime.now(UTC), self.run.config
        if self.callbacks is not None:
            observe = partial(self._observe_own_tools, spec=spec)
            self.callbacks.open(spec.trial, self.queries[spec.key.query_id], observe)
        try:
            asked = self._registration(spec)
            # All that trials share: the query, the model, the number of tools, and the framework's own way to end.
            cell = config.cell(spec.key.framework)
            own = spec.key.query_id, cell.model, cell.max_tools, asked.finish_tool
            await self.control.open_trial(asked, own if self.shares else None)
        except NothingMeasured as error:
            if self.callbacks is not None:
                await self.callbacks.close(spec.trial)
            failure = Failure(kind="server", message=f"the trial could not be opened: {error}")
            outcome = Outcome(started_at=datetime.now(UTC), wall_time=0.0, failure=failure)
            return spec, outcome, _empty_log(spec.trial), ()
        opening = before, datetime.now(UTC)
        closing: asyncio.Task[tuple[WireLog, NothingMeasured | None]] | None = None
        try:
            async with self.slots:
                self.listeners.notify("trial_started", run=self.run, spec=spec)
                outcome = await self._work(spec)
                # Asked before the slot is free, the server answers this before the next trial's requests. The log is
                # read and scored while that runs.
                closing = asyncio.create_task(self._close(spec.trial))
                await asyncio.sleep(0)
        finally:
            try:
                wire, loss = await (closing or self._close(spec.trial))
            finally:
                state, broken = await self.callbacks.close(spec.trial) if self.callbacks is not None else (None, None)
        if broken or wire.failure:
            outcome = outcome.model_copy(update={"failure": broken or wire.failure})
        # The agent may repeat the endpoint's words; from here on, they are shown and stored.
        outcome = self._redaction.record(outcome)
        wire = wire if state is None else wire.model_copy(update={"state": state})
        if loss is not None:
            failure = Failure(kind="server", message=f"what the server saw of this trial is lost: {loss}")
            return spec, outcome.model_copy(update={"answer": None, "failure": failure}), wire, ()
        outcome, outside = outside_clock(outcome, wire, opening)
        observe = partial(self._observe_own_tools, wire, spec)
        is_long = sum(turn.request_bytes for turn in wire.model_calls) > LONG
        wire = await asyncio.to_thread(observe) if is_long else observe()
        if outcome.answer is not None:
            answer = look_up_claims(outcome.answer, (call.api for call in wire.api_calls), spec.tools)
            outcome = outcome.model_copy(update={"answer": answer})
        return spec, outcome, wire, outside

    def _observe_own_tools(self, wire: WireLog, spec: TrialSpec) -> WireLog:
        config = self.run.config
        framework = config.cell(spec.key.framework).framework
        return observe_own_tools(
            wire,
            self.queries[spec.key.query_id],
            spec.tools,
            handed_over=self._takes_tools(spec.key),
            every=config.adapter_versions.get(framework, "command") == "command",
        )

    async def _work(self, spec: TrialSpec) -> Outcome:
        """Have the agent work. An agent with its own settings runs in the same workers.

        An answer that is too long to be judged is a failure, and its beginning is kept.
        """
        framework = self.run.config.cell(spec.key.framework).framework
        executor = self.executors[spec.key.framework]
        if framework != spec.key.framework:
            spec = spec.model_copy(update={"key": spec.key.model_copy(update={"framework": framework})})
        began, started = datetime.now(UTC), time.perf_counter()
        found = await executor.execute(spec)
        if isinstance(found, LostTrial):
            lost = {"started_at": began, "wall_time": time.perf_counter() - started}
            return found.outcome().model_copy(update=lost)
        text = "" if found.failure is not None or found.answer is None else found.answer.final_answer
        if found.answer is None or len(text) <= LONGEST_ANSWER:
            return found
        message = f"the answer has {len(text):,} characters; answers of more than {LONGEST_ANSWER:,} are not judged"
        answer = found.answer.model_copy(update={"final_answer": text[:LONGEST_ANSWER]})
        return found.model_copy(update={"answer": answer, "failure": Failure(kind="answer", message=message)})

    async def _close(self, trial: str) -> tuple[WireLog, NothingMeasured | None]:
        """Close a trial and return the server's log, or an empty log and the reason if the log is lost."""
        try:
            return await self.control.close_trial(trial), None
        except NothingMeasured as error:
            return _empty_log(trial), error

    def _takes_tools(self, key: TrialKey) -> bool:
        """Return whether the agent takes the trial's tools; an agent that finds only the server may take them."""
        return self.ambient or self.run.takes_tools(key.framework)

    def _is_live(self, key: TrialKey) -> bool:
        return self.run.config.cell(key.framework).framework in self.live

    def _leaked(self, key: TrialKey, wire: WireLog) -> Sequence[str]:
        """Return the messages of the agent's earlier conversations in the first request of this one."""
        if not wire.turns or not self._is_live(key):
            return ()
        from trialbed.history import find_leaked  # only conversations need it

        agent = self.live[self.run.config.cell(key.framework).framework]
        return find_leaked(wire, SAID.setdefault(id(agent), (agent, set()))[1])

    async def _spec(self, key: TrialKey, *, fresh: bool = False) -> TrialSpec:
        config, query = self.run.config, self.queries[key.query_id]
        cell = config.cell(key.framework)
        prompt = SYSTEM_PROMPT if cell.system_prompt is None else cell.system_prompt
        return TrialSpec.at(
            f"{self.control.url}/t/{new_trial_token()}",
            ModelEndpoint(
                base_url="",
                api_key=DUMMY_KEY,
                model=cell.told_model,
                temperature=cell.temperature,
                max_tokens=config.max_tokens,
                seed=trial_seed(config.seed, key),
            ),
            key=key,
            query=query.text,
            system_prompt="\n\n".join(filter(None, (prompt, query.policy))),
            tools=await self.tools(cell.max_tools, key.query_id),
            limits=config.limits,
            fresh=fresh,
            has_turns=bool(query.turns),
        )

    def _registration(self, spec: TrialSpec) -> TrialRegistration:
        query, whole = self.queries[spec.key.query_id], self.run.config
        cell = whole.cell(spec.key.framework)
        model, labels = self.models[cell.model], (cell.label, cell.framework)
        return TrialRegistration(
            trial=spec.trial,
            seed=spec.endpoint.seed,
            # Faults are drawn from this: it is equal for every framework.
            fault_key=json.dumps([spec.key.query_id, spec.key.repeat]),
            finish_tool=next((info.finish_tool for info in self.run.frameworks if info.name in labels), ""),
            model=model.model,
            model_name=cell.told_model,
            allowed_models=whole.allowed_models,
            base_url=model.base_url,
            tools=spec.tools,
            apis=query.apis,
            script=gold_script(query, spec.tools),
            turns=query.turns,
            user=query.user,
            gold_calls=query.gold_calls if query.user else (),
            user_tools=query.user_tools,
            user_calls=query.user_calls,
            simulator=self.simulator,
            called_back=() if self.callbacks is None else self.callbacks.apis(query),
            callback_url=None if self.callbacks is None else self.callbacks.url,
            state=query.initial_state,
            ambient=self.ambient,
            limits=whole.limits,
            max_trial_tokens=whole.max_trial_tokens,
            faults=None if whole.faults is None else read_fault_plan(whole.faults),
            cached_as=self.cached_as.get(cell.model, ""),
        )

    @cached_property
    def _redaction(self) -> Redaction:
        """Masks the secrets of the environment, which is not read again for every trial."""
        return redaction_of(secret_values())

    async def _examine(
        self, result: TrialResult, query: Query, tools: Sequence[ToolSpec], outside: Sequence[ModelCall | ApiCall]
    ) -> Examined:
        """Read the trial's requests, long ones in a thread and very long ones in a process, to keep this one free.

        Raises:
            ScoringStopped: there are more requests than can be read within the limits.
        """
        answer, live = result.outcome.answer or Answer(final_answer=""), self._is_live(result.key)
        size = trial_size(answer, result.wire)
        given = result, query, tools, outside, self.run.config.max_steps, self._takes_tools(result.key)
        if size == "small" and (is_short(query, tools) or not unnamed_gold(query)):
            # To wait for a thread takes nearly as long, and both then take turns.
            return examine(*given, in_process=live)
        if self.processes is None or size != "large":
            return await asyncio.to_thread(examine, *given, in_process=live)
        return cast("Examined", await self.processes.call(examine, *given, in_process=live))

    async def _scores(self, result: TrialResult, tools: tuple[ToolSpec, ...]) -> tuple[tuple[Score, ...], Query]:
        """Return a trial's scores, and its query with the findings of functions in its expected arguments."""
        key, outcome, wire = result.key, result.outcome, result.wire
        query = self.queries[key.query_id]
        if outcome.answer is None or outcome.failure is not None:
            return (), query
        context = ScoreContext(
            query=query,
            tools=tools,
            answer=outcome.answer,
            wire=wire,
            timing=result.timing,
            judge=self.judge,
            judge_name=judge_label(self.run.config.judge, self.run.config.judge_model),
            # An agent in process may be led by a model that the gateway does not see.
            unasked=() if self._is_live(key) else unasked_calls(wire, tools, forced=query.allow_forced_calls),
            in_process=self._is_live(key),
            takes_tools=self._takes_tools(key),
            prices=self.run.prices_of(key.framework),
        )
        if checks := await run_checks(self.checks, context):
            context = context.with_checks(checks)
        scores = await self.listeners.score(await with_criteria(context, self.processes))
        self._warn_of_powerless(key, scores)
        return scores, context.query

    def _warn_of_powerless(self, key: TrialKey, scores: Sequence[Score]) -> None:
        """Report, once for each setup, forbidden tools that its agent does not have."""
        for score in scores:
            for one in score.detail.get("expectations", ()) if score.name == JUDGED else ():
                said = key.framework, one["text"]
                if one["text"].endswith(NOT_OFFERED) and said not in self.powerless:
                    self.powerless.add(said)
                    LOG.warning("%s: task %s: this cannot fail: %s", key.framework, key.query_id, one["text"])


Examined = tuple[tuple[IntegrityFinding, ...], tuple[AttributedCall, ...] | None]


def examine(
    result: TrialResult,
    query: Query,
    tools: Sequence[ToolSpec],
    outside: Sequence[ModelCall | ApiCall],
    max_steps: int | None,
    takes_tools: bool,
    *,
    in_process: bool,
) -> Examined:
    """Return the findings on the integrity of a scored trial, and what became of its expected calls."""
    found = integrity_findings(query, tools, result.outcome, result.wire, outside, in_process=in_process)
    if result.status == "not measured":
        return found, None
    return found, attribute(query, tools, result, max_steps, takes_tools=takes_tools)


def _empty_log(trial: str) -> WireLog:
    return WireLog(trial=trial, opened_at=datetime.now(UTC))
