"""The contract of a judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from trialbed.errors import JudgeError
from trialbed.records import Answer, Json, ModelEndpoint, Query, Record, WireLog

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess

AnswerStatus = Literal["Solved", "Unsure", "Unsolved"]

STATUS_VALUES: dict[AnswerStatus, float] = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}
"""The value of each status in the Solvable Pass Rate (StableToolBench, Guo et al. 2024)."""


class Vote(Record):
    """One vote of a judge, with its status, reason and seed, and how it was reached."""

    status: AnswerStatus
    reason: str = ""
    seed: int | None = None
    step: str = ""


class Verdict(Record):
    """A judge's finding.

    Attributes:
        status: of most votes; Unsure if two are equally frequent.
        value: the mean of the votes' values, in [0, 1].
        reason: why, in words.
        votes: the status of each vote.
        ballots: each vote with its reason, if the judge gives them.
    """

    status: AnswerStatus
    value: float
    reason: str
    votes: tuple[AnswerStatus, ...]
    ballots: tuple[Vote, ...] = ()

    @property
    def agreement(self) -> float:
        """The share of votes that have the most frequent status: 1 if all agree."""
        return max(self.votes.count(status) for status in self.votes) / len(self.votes) if self.votes else 1.0


class Judge(ABC):
    """Grades an answer; a driver of the group ``trialbed.judges`` is a subclass.

    Class attributes:
        needs_model: whether it cannot work without a model (``--judge-model``).
        model: the model that it may ask, set before its first verdict; None if the user names none.
        prompts: the folder of an installed copy of a judge's own prompts (``--judge-prompts``), also set before its
            first verdict.

    Args:
        endpoint: the endpoint of its model; None if the user names no model.
        votes: how many verdicts one answer gets.
    """

    needs_model: ClassVar[bool] = False
    model: ModelAccess | None = None
    prompts: Path | None = None

    def __init__(self, endpoint: ModelEndpoint | None = None, *, votes: int = 1) -> None:
        self.endpoint = endpoint
        self.votes = votes

    @property
    def about(self) -> Mapping[str, Json]:
        """The settings that its verdicts depend on, such as the digest of its prompt, without the model and the votes.

        A calibration is of the judge with these values, and result documents have them.
        """
        return {}

    def calibration(self) -> Mapping[str, Json] | None:
        """Return its agreement with labelled cases if all instances share it, or None if it must be measured.

        It has the form of ``bench judge calibrate --json``. A calibration that the user measured comes first.
        """
        return None

    @abstractmethod
    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer against the query and the wire log.

        Raises:
            JudgeError: no usable verdict; it is never replaced by a guess.
        """

    async def meets(
        self,
        criterion: str,  # noqa: ARG002 - drivers override it
        query: Query,  # noqa: ARG002
        answer: Answer,  # noqa: ARG002
        wire: WireLog,  # noqa: ARG002
    ) -> Verdict:
        """Return whether a criterion of a task, in words, is met, as the verdict Solved or Unsolved.

        Raises:
            JudgeError: no usable verdict, or the judge reads no criteria.
        """
        raise JudgeError(f"{type(self).__name__} reads no criteria; name a model that does as --judge-model")

    async def close(self) -> None:  # noqa: B027 - closing nothing is the usual case
        """Free the resources of the judge."""
