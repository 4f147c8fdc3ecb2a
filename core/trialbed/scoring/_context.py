"""The context of a score, its bounds, and the trials that count in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from trialbed.contracts import Judge
from trialbed.identity import once_for
from trialbed.records import Answer, ApiCall, ApiRef, Json, Prices, Query, Timing, ToolSpec, WireLog
from trialbed.tool_calls import UNSEEN, AskedCall, asked_calls, is_written, with_accepted

ALWAYS = ("sopr_score", "api_call_score", "api_precision", "api_f1", "has_finish")
"""Scores of quality that a summary has even if every trial failed."""

TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
"""Scores that separate a worker's first trial, because it does the work that later ones find done."""

OF_GOLD_CALLS = ("api_call_score", "api_precision", "api_f1")
"""Scores that there are only of queries that say which calls solve them."""

OF_GOLD_ARGUMENTS = ("argument_accuracy", "tool_call_f1", "tool_call_accuracy")
"""Scores that only exist for queries with arguments in the expected calls."""

OF_GOLD = (*OF_GOLD_CALLS, *OF_GOLD_ARGUMENTS)
"""Scores that there are only of queries that say something of the calls; a run may have them of no query."""

OF_STATE = ("final_state",)
"""Scores that only exist for queries with a final state, and for runs with such a query."""

OF_SOME = (*OF_GOLD, *OF_STATE)
"""Scores that not every query has."""


def absent_scores(query: Query) -> tuple[str, ...]:
    """Return the scores that no trial of a query can have."""
    of_state = OF_STATE if query.final_state is None else ()
    if not query.states_calls:
        return (*OF_GOLD, *of_state)
    return (*OF_GOLD_ARGUMENTS, *of_state) if all(call.arguments is None for call in query.gold_calls) else of_state


LONGEST_ANSWER = 500_000
"""The longest judged answer in characters, about a thousand pages. A trial with a longer one has failed."""

LONG_ANSWER = 50_000
"""Characters of an answer that Trialbed's own scorers read in about 50 ms; longer ones are scored in a process."""

LARGE_LOG = 1_000_000
"""The same limit for a server's log together with the agent's claims."""

SMALL_LOG = 50_000
"""Characters of both, and of the answer, that are read word by word in some milliseconds: 65 if all are new."""

SMALL_TASK = 20_000
"""The same limit for a task with its documentation, which is read for the first of its trials."""

PROCESSOR_SECONDS = 60
"""Seconds of work for the scores of one plugin on one trial."""

SILENT_SECONDS = 600.0
"""Seconds for these scores, or for a judge, which may wait for a model."""

MEMORY = 4 * 2**30
"""Bytes of data of a scoring process."""


TrialSize = Literal["small", "medium", "large"]


class ScoringStopped(Exception):
    """The scoring of a trial passed a limit; says which one."""


@once_for(128)
def is_short(query: Query, tools: Sequence[ToolSpec]) -> bool:
    """Return whether a task and the documentation of its Apis and tools are so small that reading them is, too."""
    texts: list[Any] = [[tool.description, tool.parameters] for tool in tools]
    for api in query.apis:
        parameters = (*api.required_parameters, *api.optional_parameters)
        values = [[one.description, one.default, *one.enum] for one in parameters]
        texts.append([api.description, api.tool_description, values, api.template_response, api.json_schema])
    return _size([query.text, *texts], SMALL_TASK) <= SMALL_TASK


@once_for(8)
def trial_size(answer: Answer, wire: WireLog) -> TrialSize:
    """Return how large the texts of a trial are.

    Reading every word of small ones holds up nothing; large ones are not scored between two events of the engine.
    """
    length, bodies = len(answer.final_answer), sum(len(call.request) + len(call.response) for call in wire.model_calls)
    results = [[call.arguments, call.response] for calls in (wire.api_calls, answer.calls) for call in calls]
    # Counted little beyond the larger bound.
    size = bodies + _size(results, LARGE_LOG - bodies)
    if length > LONG_ANSWER or size > LARGE_LOG:
        return "large"
    return "small" if size + length <= SMALL_LOG else "medium"


def _size(value: Any, most: int) -> int:
    """Return about as many characters as a value has, counted no further than ``most``."""
    size, rest = 0, [value]
    while rest and size <= most:
        value = rest.pop()
        if isinstance(value, str):
            size += len(value)
            continue
        size += 8
        if isinstance(value, dict):
            size += sum(map(len, value))
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)
    return size


class CheckResult(NamedTuple):
    """The result of a function that looks at a trial.

    Attributes:
        met: None if the function failed.
        reason: why it is not met, or how the function failed.
        accepted: of a function in expected arguments, the values that it accepts.
    """

    name: str
    met: bool | None
    reason: str = ""
    accepted: list[Json] | None = None


@dataclass(frozen=True)
class ScoreContext:
    """All that is known of a trial without failure.

    Attributes:
        query: the task, with its expected calls.
        tools: those offered to the agent.
        answer: the agent's claims.
        wire: the log of the server.
        timing: wall time and its parts, in seconds.
        judge: the run's judge, which cannot be asked in a scoring process.
        judge_name: ``rule`` or the judge model's name.
        unasked: the calls of Apis that no answer of the model asked for; they give no points.
        in_process: whether the agent is an object of the caller's program, which may answer without the model.
        takes_tools: whether the agent takes the trial's tools.
        prices: of the model's tokens; None if they are not known.
        checks: the results of the functions that the task has look at the trial.
        asked_in_turn: the calls that the model asked for, if the context is one turn of a trial; else None.
    """

    query: Query
    tools: tuple[ToolSpec, ...]
    answer: Answer
    wire: WireLog
    timing: Timing
    judge: Judge
    judge_name: str
    unasked: tuple[ApiCall, ...] = ()
    in_process: bool = False
    takes_tools: bool = True
    prices: Prices | None = None
    checks: tuple[CheckResult, ...] = ()
    asked_in_turn: tuple[AskedCall, ...] | None = None

    def with_checks(self, checks: tuple[CheckResult, ...]) -> ScoreContext:
        """Return the context with these results; expected arguments are met by what their functions accept."""
        accepted = {result.name: result.accepted for result in checks if result.accepted is not None}
        query = Query.model_validate(with_accepted(self.query.model_dump(), accepted)) if accepted else self.query
        return replace(self, checks=checks, query=query)

    def of_turn(self, number: int) -> ScoreContext:
        """Return the context with the answer, the calls and the requests of one turn alone, counted from 1."""
        said, (begins, ends) = self.wire.turns[number - 1].answer, self.wire.span_of_turn(number)
        # Whether a call is the model's own shows in the turns before.
        asked = tuple(call for call in self.asked if begins <= call.started < ends)
        answer = Answer(final_answer=said or "")
        return replace(self, wire=self.wire.of_turn(number), answer=answer, asked_in_turn=asked)

    @cached_property
    def unobserved(self) -> bool:
        """True if calls of the agent are not observed.

        It takes no tools and sends no requests, it does not send the model the result of a call, or the calls are text.
        """
        shown = self.takes_tools or self.wire.model_calls or self.wire.api_calls
        called = {call.api for call in self.calls}
        return (
            not shown
            or any(call.problem == UNSEEN for call in self.asked)
            or any(is_written(api, self.query, self.wire) for api in self.query.own_tools - called)
        )

    @property
    def text(self) -> str:
        """The agent's answer in words; all answers in a conversation with a user whom the server plays."""
        if self.query.user is None or self.query.user.kind == "caller":
            return self.answer.final_answer
        return "\n\n".join(turn.answer or "" for turn in self.wire.turns)

    @property
    def calls(self) -> tuple[ApiCall, ...]:
        """Every call of an Api that the server saw, in order."""
        return self.wire.api_calls

    @cached_property
    def called_apis(self) -> tuple[ApiRef, ...]:
        """The Apis called because the model asked for it, from the wire, in order, each call once."""
        return tuple(call.api for call in self.asked_wire.api_calls)

    @cached_property
    def asked(self) -> tuple[AskedCall, ...]:
        """The calls that the model asked for, in its order, and what became of each; read once for all scorers."""
        if self.asked_in_turn is not None:
            return self.asked_in_turn
        wire = self.wire
        return asked_calls(wire, self.tools, self.unasked) if wire.model_calls or wire.api_calls else ()

    @cached_property
    def asked_wire(self) -> WireLog:
        """The wire log without the calls that no answer of the model asked for."""
        if not self.unasked:
            return self.wire
        unasked = {id(call) for call in self.unasked}
        asked = tuple(call for call in self.wire.api_calls if id(call) not in unasked)
        return self.wire.model_copy(update={"api_calls": asked})
