"""The context of a score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from trialbed.contracts import Judge
from trialbed.records import Answer, ApiCall, ApiRef, Json, Prices, Query, Timing, ToolSpec, WireLog
from trialbed.tool_calls import UNSEEN, AskedCall, asked_calls, is_written, with_accepted


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
