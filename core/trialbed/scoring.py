"""The context of a score."""

from __future__ import annotations

from dataclasses import dataclass

from trialbed.contracts import Judge
from trialbed.records import Answer, ApiRef, Query, Timing, ToolSpec, WireLog


@dataclass(frozen=True)
class ScoreContext:
    """All that is known of a trial that ended with an answer.

    Attributes:
        query: the task, with its gold calls.
        tools: what the agent was offered.
        answer: the agent's claims.
        wire: what the server saw.
        timing: wall time and its parts, in seconds.
        judge: the run's judge.
        judge_name: ``rule`` or the judge model's name.
    """

    query: Query
    tools: tuple[ToolSpec, ...]
    answer: Answer
    wire: WireLog
    timing: Timing
    judge: Judge
    judge_name: str

    @property
    def called_apis(self) -> tuple[ApiRef, ...]:
        """The Apis called, from the wire, in order, each call once."""
        return tuple(call.api for call in self.wire.api_calls)
