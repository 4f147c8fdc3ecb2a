"""Asks a model to grade answers, and to compare them."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed.contracts import Candidate, Preference, Verdict, Vote
from trialbed.records import Answer, Json, Query, WireLog
from trialbed_plugins.judges._asking import AskingJudge, digest
from trialbed_plugins.judges._preferences import PREFERENCE_SCHEMA, read_preference
from trialbed_plugins.judges._prompt import CORRECTION, INSTRUCTIONS, PREFERENCE_INSTRUCTIONS, messages, pair_messages
from trialbed_plugins.judges._votes import SCHEMA, read_vote


class ModelJudge(AskingJudge):
    """Asks a model whether an answer solves its query, once per vote.

    As in StableToolBench, an agent that did not finish, gave up or answered nothing is Unsolved without a model
    being asked. A reply that cannot be read is asked for once more; then there is no verdict.
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

    async def prefer(self, query: Query, first: Candidate, second: Candidate) -> Preference:
        """Say which of two answers is better, asked once in this order.

        Raises:
            JudgeError: the model cannot be reached, or its preference cannot be read twice.
        """
        conversation = pair_messages(query, first, second, PREFERENCE_INSTRUCTIONS)
        return await self.ask(read_preference, conversation, schema=PREFERENCE_SCHEMA)
