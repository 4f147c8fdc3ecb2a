"""The contract of a judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from trialbed.records import Answer, ModelEndpoint, Query, Record, WireLog

AnswerStatus = Literal["Solved", "Unsure", "Unsolved"]

STATUS_VALUES: dict[AnswerStatus, float] = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}
"""The value of each status in the Solvable Pass Rate (StableToolBench, Guo et al. 2024)."""


class Verdict(Record):
    """A judge's finding: the status, the mean of the votes' values in [0, 1], why, and each vote."""

    status: AnswerStatus
    value: float
    reason: str
    votes: tuple[AnswerStatus, ...]


class Judge(ABC):
    """Grades an answer; a driver of the group ``trialbed.judges`` is a subclass.

    Args:
        endpoint: where a judge that is a model finds it; None for judges that need none.
        votes: how many verdicts one answer gets.
    """

    def __init__(self, endpoint: ModelEndpoint | None = None, *, votes: int = 1) -> None:
        self.endpoint = endpoint
        self.votes = votes

    @abstractmethod
    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer against the query and what the wire shows.

        Raises:
            JudgeError: no usable verdict; it is never replaced by a guess.
        """

    async def close(self) -> None:  # noqa: B027 - closing nothing is the usual case
        """Free what the judge holds."""
