"""The base of judges that ask a model."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from tenacity.wait import wait_base

from trialbed.contracts import Judge, Verdict, Vote
from trialbed.errors import JudgeError, ModelFailed, UsageError
from trialbed.model_access import ModelAccess
from trialbed.records import Answer, ModelEndpoint, Query, WireLog
from trialbed_evaluation.judges._criteria import (
    CRITERION_CORRECTION,
    CRITERION_SCHEMA,
    criterion_messages,
    read_met,
    without_text,
)
from trialbed_evaluation.judges._gate import without_answer
from trialbed_evaluation.judges._steering import NOTE, steers
from trialbed_evaluation.judges._votes import count_votes

T = TypeVar("T")


class AskingJudge(Judge):
    """A judge that asks a model, once per vote, each with its own seed.

    Args:
        endpoint: where the model is; ``model``, if it is set, goes before it.
        votes: how many verdicts one answer gets; the score is their mean.

    Raises:
        UsageError: the endpoint is missing, or the number of votes is 0.
    """

    needs_model: ClassVar[bool] = True

    wait: ClassVar[wait_base | None] = None
    """Between attempts to reach a busy model; None: exponential, up to 8 seconds."""

    def __init__(self, endpoint: ModelEndpoint | None = None, *, votes: int = 1) -> None:
        super().__init__(endpoint, votes=votes)
        if endpoint is None:
            raise UsageError("a judge that asks a model needs one: give its name as --judge-model, or use --judge rule")
        if votes < 1:
            raise UsageError(f"a judge needs at least one vote, not {votes}; see --judge-votes")
        self._seed = endpoint.seed
        self._own = ModelAccess(endpoint, wait=self.wait)

    @property
    def access(self) -> ModelAccess:
        """The model that is asked."""
        return self.model or self._own

    async def close(self) -> None:
        """Close the connections to the model."""
        await self._own.close()
        if self.model is not None:
            await self.model.close()

    async def meets(self, criterion: str, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Say whether a criterion is met, by most votes.

        Raises:
            JudgeError: the model cannot be reached, or a vote cannot be read twice.
        """
        asked = criterion_messages(criterion, query, answer, wire)

        async def vote(seed: int) -> Vote:
            return await self.ask(read_met, asked, schema=CRITERION_SCHEMA, seed=seed, correction=CRITERION_CORRECTION)

        return await self.counted(answer, vote, without_text)

    async def ask(self, read: Callable[[str], T], messages: Sequence[Mapping[str, Any]], **how: Any) -> T:
        """Ask the model, as ``ModelAccess.ask_for`` does.

        Raises:
            JudgeError: no reply can be read.
        """
        try:
            return await self.access.ask_for(read, messages, **how)
        except ModelFailed as error:
            raise JudgeError(str(error)) from error

    async def counted(
        self,
        answer: Answer,
        vote: Callable[[int], Awaitable[Vote]],
        gate: Callable[[Answer], str | None] = without_answer,
    ) -> Verdict:
        """Return the verdict of all votes; without an answer, every vote is Unsolved and no model is asked.

        Args:
            vote: gives the vote with a seed.
            gate: says why an answer cannot be graded.
        """
        unsolved = gate(answer)
        if unsolved:
            own = Vote(status="Unsolved", reason=unsolved)
            return count_votes([own] * self.votes)
        # One after the other: a model's prompt cache serves all but the first.
        seeds = range(self._seed, self._seed + self.votes)
        found = count_votes([(await vote(seed)).model_copy(update={"seed": seed}) for seed in seeds])
        return found.model_copy(update={"reason": f"{found.reason} ({NOTE})"}) if steers(answer.final_answer) else found


def digest(*texts: str) -> str:
    """Return a short digest of prompts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
