"""The page of one trial, with its exchanges in time, its problems and its answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from trialbed.attribution import loser_of
from trialbed.history import read_history
from trialbed.records import IN_PROCESS, Query, TrialResult, WireTurn
from trialbed.report import trial_name
from trialbed.report.inspection import (
    BY_EXPECTATIONS,
    Exchange,
    ModelExchange,
    TrialProblem,
    api_name,
    as_text,
    end_text,
    exchanges,
    problem_words,
    problems,
    reason_text,
)
from trialbed.scoring import JUDGED
from trialbed.settings import declared_settings
from trialbed.store import StoredRun
from trialbed.texts import one_line
from trialbed.views import BarSpan, Timeline, printable
from trialbed.wire.redaction import shown_url

LANES = ("model", "tools", "framework")

BOUNDS = ("max_tools", "max_steps", "timeout", "max_trial_tokens", "max_tokens")
"""Settings that may end a trial, or change what it is offered: the command that runs it again has those it had."""

MOST = 200
"""Characters of a reason in a sentence."""

LEAST = 0.0005
"""Seconds that a gap between two exchanges lasts to be drawn as the framework's."""


@dataclass(frozen=True)
class ShownExchange:
    """An exchange on a page.

    Attributes:
        exchange: the exchange in the log.
        at: seconds from the agent's beginning.
    """

    exchange: Exchange
    at: float

    @property
    def kind(self) -> str:
        """``model`` or ``api``, which is also its class in the style sheet."""
        return "model" if isinstance(self.exchange, ModelExchange) else "api"

    @property
    def anchor(self) -> str:
        """The id of its place on the page."""
        return f"{'request' if self.kind == 'model' else 'call'}-{self.exchange.place}"

    @property
    def is_bad(self) -> bool:
        """Return whether it is marked as gone wrong."""
        return bool(self.exchange.call.error) or not 200 <= self.exchange.call.status < 300


@dataclass(frozen=True)
class LossEvidence:
    """The loss of an expected call, with the model's call, the expected one, and the party that dropped it.

    Attributes:
        sent: the model's unchanged call; empty if it did not ask for the tool.
        by: one of ``LOSERS``.
        names: of the tool, as problems have it.
        request: the place of the request that led to the model's call, or of the last one; 0 without any.
        after: the place of the next request, which has the response to the model; 0 if the run ended there.
    """

    expected: str
    sent: str
    by: str
    reason: str
    names: tuple[str, ...]
    request: int
    after: int


@dataclass(frozen=True)
class TrialPage:
    """The page of a trial.

    Attributes:
        query: its task, if known.
    """

    run: StoredRun
    trial: TrialResult
    query: Query | None

    @property
    def label(self) -> str:
        """The trial's name in commands."""
        return trial_name(self.trial.key.framework, self.trial.key.query_id, self.trial.key.repeat)

    @property
    def is_solved(self) -> bool:
        """Return whether the judge found the task solved."""
        score = self.trial.score(JUDGED)
        return self.trial.status == "answered" and score is not None and score.label == "Solved"

    @property
    def conclusion(self) -> str:
        """Return in a sentence how it ended."""
        failure, score = self.trial.outcome.failure, self.trial.score(JUDGED)
        if failure is not None:
            ended = "failed" if self.trial.status == "failed" else "was not measured"
            return f"The trial {ended}: {one_line(failure.message, MOST).rstrip('.')}."
        if score is None or score.value is None:
            return f"It {end_text(self.trial)}; there is no verdict."
        if self.is_solved:
            return "The task is solved."
        reason = one_line(reason_text(score), MOST).rstrip(".")
        # The value is the mean of the votes; the label is that of most of them, and all tables count it.
        found = "It is unsure whether the task is solved" if score.label == "Unsure" else "The task is not solved"
        cause = self._cause if score.detail.get("method") == BY_EXPECTATIONS else ""
        return f"{found}{f': {reason}' if reason else ''}{cause}."

    @property
    def _cause(self) -> str:
        """Return the first failed request or call, if expectations only say that they are not met, and nothing else."""
        if self.fault is not None:
            return ""
        first = next((one for one in self.problems if one.where.startswith(("request", "call"))), None)
        return f"; {first.where}: {one_line(first.what, MOST).rstrip('.')}" if first else ""

    @cached_property
    def fault(self) -> LossEvidence | None:
        """The first expected call that the framework lost, else the first that anyone lost; None if none was."""
        failure, calls = self.trial.outcome.failure, self.trial.wire.model_calls
        lost = [
            (loser_of(one.lost, one.reason, failure.kind if failure else ""), one)
            for one in self.trial.gold_calls or ()
            if one.lost is not None
        ]
        if not lost:
            return None
        by, found = min(lost, key=lambda pair: pair[0] != "framework")
        names = {tool.name for tool in self.run.tools_of(self.trial) if tool.api == found.gold.api}
        sent = ((place, call) for place, one in enumerate(calls, 1) for call in one.tool_calls)
        asked = [(place, call) for place, call in sent if call.tool_name in names]
        seen = [pair for pair in asked if pair[0] in found.requests] or asked
        request = seen[0][0] if seen else len(calls)
        arguments = "" if found.gold.arguments is None else as_text(found.gold.arguments)
        return LossEvidence(
            expected=f"{next(iter(names), found.gold.api.api_name)} {arguments}",
            sent=f"{seen[0][1].name} {seen[0][1].arguments}" if seen else "",
            by=by,
            reason=problem_words(found.reason),
            names=(*names, "/".join(filter(None, found.gold.api.pair))),
            request=request,
            after=request + 1 if request < len(calls) else 0,
        )

    @cached_property
    def problems(self) -> Sequence[TrialProblem]:
        """The things that went wrong."""
        return problems(self.trial, self.run.tools_of(self.trial))

    @property
    def further(self) -> list[TrialProblem]:
        """The problems that neither the page's first sentence nor the fault says."""
        return [one for one in self.problems if not (self._is_concluded(one) or self._is_fault(one))]

    def _is_concluded(self, problem: TrialProblem) -> bool:
        failure, score = self.trial.outcome.failure, self.trial.score(JUDGED)
        ends = (f"{self.trial.status} ({failure.kind})" if failure else "", score and score.label)
        head, _, rest = problem.what.partition(": ")
        return (
            problem.where in ("trial", "answer")
            and head in ends
            and " ".join(rest.split()).rstrip(".") in self.conclusion
        )

    def _is_fault(self, problem: TrialProblem) -> bool:
        if self.fault is None:
            return False
        fault, told, rest = self.fault, dict(problem.details), problem.what.rpartition(": ")[2]
        same = told.get("sent", "") in fault.sent and told.get("expected", "") in fault.expected
        is_reason = fault.reason in problem.what or rest in fault.reason
        return same and is_reason and any(name in problem.what for name in fault.names)

    @cached_property
    def exchanges(self) -> list[ShownExchange]:
        """The requests to the model and the calls of Apis, in their order."""
        found = exchanges(self.trial.wire)
        begin = _begin(self.trial, found)
        return [ShownExchange(one, begin + one.at) for one in found]

    @property
    def conversation(self) -> list[tuple[WireTurn, str]]:
        """The turns of a conversation, and the findings on the history of each."""
        found = read_history(self.trial.wire, self.query.policy if self.query else "")
        return [(turn, one.text) for turn, one in zip(self.trial.wire.turns, found, strict=True)]

    @cached_property
    def timeline(self) -> Timeline:
        """Return the parties at work over time; between exchanges, it is the framework."""
        total = self.trial.outcome.wall_time
        spans = [_span(shown) for shown in self.exchanges]
        title = "Who was at work, in seconds from the beginning of the agent"
        return Timeline(title, LANES, [*spans, *_gaps(spans, total)], total)

    @property
    def attempts(self) -> list[int]:
        """The numbers of the trial's attempts."""
        key = self.trial.key
        found = self.run.attempts(framework=key.framework, query_id=key.query_id, repeat=key.repeat)
        return sorted(trial.attempt for trial in found)

    @property
    def show_command(self) -> str:
        """The command that shows the trial in a terminal."""
        return as_command(["bench", "show", self.run.run_id, self.label])

    @property
    def run_command(self) -> str | None:
        """The command that runs the trial's query again, with the run's main settings.

        None for an agent that was an object of the program that made the run.
        """
        key = self.trial.key
        config, cell = self.run.config, self.run.config.cell(key.framework)
        if any(info.name == key.framework and info.adapter == IN_PROCESS for info in self.run.frameworks):
            return None
        program = config.command(key.framework)
        agent = ["-f", cell.framework] if program is None else ["--command", f"{cell.framework}={program}"]
        words = ["bench", "run", *agent, "-d", config.named_dataset, "--query-id", str(key.query_id)]
        words += ["--model", cell.model, "--seed", str(config.seed)]
        words += ["--base-url", shown_url(config.base_url)] if config.base_url else []
        words += ["--temperature", f"{cell.temperature:g}"] if cell.temperature is not None else []
        words += ["--repeat", str(config.repeat)] if config.repeat > 1 else []
        words += _unusual_bounds(config.settings(key.framework))
        words += ["--faults", config.faults] if config.faults is not None else []
        return as_command(words)


def _unusual_bounds(settings: Mapping[str, Any]) -> Iterator[str]:
    for declared in declared_settings():
        if declared.name in BOUNDS and (value := settings[declared.name]) != declared.usual:
            yield from (declared.setting.option[-1], f"{value:g}" if isinstance(value, float) else str(value))


def as_command(words: Sequence[str]) -> str:
    """Return words as a shell command on one line, quoted because ids and names come from elsewhere."""
    return printable(shlex.join(words))


def _begin(result: TrialResult, found: Sequence[Exchange]) -> float:
    """Return the seconds from the agent's beginning to its first exchange, assuming that both processes' clocks agree.

    Exchanges are moved to end before the agent if its time is long enough for all, because older runs have a beginning
    from before the agent was made.
    """
    started = min((one.call.started for one in found), default=0.0)
    begin = (result.wire.opened_at - result.outcome.started_at).total_seconds() + started
    last = max((one.at + one.call.duration for one in found), default=0.0)
    return max(0.0, min(begin, result.outcome.wall_time - last))


def _span(shown: ShownExchange) -> BarSpan:
    one = shown.exchange
    lane, name = "model", f"request {one.place}"
    if not isinstance(one, ModelExchange):
        lane, name = "tools", f"call {one.place}, {api_name(one.call)}"
    return BarSpan(lane, name, shown.at, one.call.duration, shown.is_bad)


def _gaps(spans: Sequence[BarSpan], end: float) -> Iterator[BarSpan]:
    """Yield the times without an exchange."""
    until = 0.0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start - until > LEAST:
            yield BarSpan("framework", "at work", until, span.start - until)
        until = max(until, span.start + span.length)
    if end - until > LEAST:
        yield BarSpan("framework", "at work", until, end - until)
