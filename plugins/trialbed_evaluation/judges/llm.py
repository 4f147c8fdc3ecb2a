"""Asks a model to grade answers."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed.contracts import Verdict, Vote
from trialbed.records import Answer, Json, Query, WireLog
from trialbed_evaluation.judges._asking import AskingJudge, digest
from trialbed_evaluation.judges._prompt import CORRECTION, INSTRUCTIONS, messages
from trialbed_evaluation.judges._votes import SCHEMA, read_vote


class ModelJudge(AskingJudge):
    """Asks a model whether an answer solves its query, once per vote.

    As in StableToolBench, an agent that did not finish, gave up or answered nothing is Unsolved without a model
    being asked. A reply that cannot be read is asked for once more; then the judge has failed.
    """

    @property
    def about(self) -> Mapping[str, Json]:
        """The digest of the prompt."""
        return {"judge": "llm", "prompt": digest(INSTRUCTIONS)}

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer.

        Raises:
            JudgeError: the model cannot be reached, or a vote cannot be read twice.
        """
        conversation = messages(query, answer, wire)

        async def vote(seed: int) -> Vote:
            return await self.ask(read_vote, conversation, schema=SCHEMA, seed=seed, correction=CORRECTION)

        return await self.counted(answer, vote)
