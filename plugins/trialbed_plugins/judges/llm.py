"""Asks a model to grade answers."""

from __future__ import annotations

from typing import Any, ClassVar

from tenacity.wait import wait_base

from trialbed.chat import ChatClient, Reading, first_message
from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError, UsageError
from trialbed.records import Answer, Limits, ModelEndpoint, Query, WireLog
from trialbed_plugins.judges._prompt import corrected, messages
from trialbed_plugins.judges._votes import Malformed, Vote, count_votes, read_vote

Messages = list[dict[str, str]]

JSON_ONLY = {"response_format": {"type": "json_object"}}

REFUSALS = ("http_400", "http_422")
"""Kinds of problems with which endpoints reject a field that they do not know."""


class ModelJudge(Judge):
    """Asks a model whether an answer solves its query, once per vote, each with its own seed.

    As in StableToolBench, an agent that did not finish, gave up or answered nothing is Unsolved without a model
    being asked. A reply that cannot be read is asked for once more; then there is no verdict.

    Args:
        endpoint: where the model is.
        votes: how many verdicts one answer gets; the score is their mean.

    Raises:
        UsageError: there is no endpoint, or no vote.
    """

    wait: ClassVar[wait_base | None] = None
    """Between attempts to reach a busy model; None: exponential, up to 8 seconds."""

    def __init__(self, endpoint: ModelEndpoint | None = None, *, votes: int = 1) -> None:
        super().__init__(endpoint, votes=votes)
        if endpoint is None:
            raise UsageError("the judge llm needs a model: give the model's name as --judge, or use --judge rule")
        if votes < 1:
            raise UsageError(f"a judge needs at least one vote, not {votes}; see --judge-votes")
        self._model = _Model(endpoint, self.wait)
        self._seed = endpoint.seed

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer.

        Raises:
            JudgeError: the model cannot be reached, or a vote cannot be read twice.
        """
        unsolved = _gate(answer)
        if unsolved:
            return Verdict(status="Unsolved", value=0.0, reason=unsolved, votes=("Unsolved",) * self.votes)
        conversation = messages(query, answer, wire)
        # One after the other: a model's prompt cache serves all but the first.
        return count_votes([await self._vote(conversation, self._seed + number) for number in range(self.votes)])

    async def close(self) -> None:
        """Close the connections to the model."""
        await self._model.close()

    async def _vote(self, conversation: Messages, seed: int) -> Vote:
        reply = await self._model.reply(conversation, seed)
        try:
            return read_vote(reply)
        except Malformed as problem:
            again = await self._model.reply(corrected(conversation, reply, str(problem)), seed)
        try:
            return read_vote(again)
        except Malformed as problem:
            raise JudgeError(f"the judge's reply cannot be read, twice: {problem}") from problem


class _Model:
    """The judge's model. It is asked for JSON; an endpoint that refuses this is asked without it from then on."""

    def __init__(self, endpoint: ModelEndpoint, wait: wait_base | None) -> None:
        # The gateway decides how long a model may take, and repeats what fails.
        timeout = Limits().request_timeout
        self._client = ChatClient(endpoint.base_url, endpoint.api_key, timeout=timeout, wait=wait)
        self._format: dict[str, Any] = JSON_ONLY
        self._settings: dict[str, Any] = {"model": endpoint.model, "temperature": endpoint.temperature or 0.0}
        if endpoint.max_tokens is not None:
            self._settings["max_tokens"] = endpoint.max_tokens

    async def close(self) -> None:
        await self._client.close()

    async def reply(self, conversation: Messages, seed: int) -> str:
        """The text of the model's reply.

        Raises:
            JudgeError: the model does not reply with a text.
        """
        request = {**self._settings, "messages": conversation, "seed": seed}
        reading = await self._client.complete(request | self._format)
        if self._format and _kind(reading) in REFUSALS:
            reading = await self._client.complete(request)
            if reading.outcome not in ("transport_error", "timeout"):
                self._format = {}
        return _text(reading)


def _text(reading: Reading) -> str:
    message = first_message(reading.response)
    if not message:
        problem = reading.problem.message if reading.problem else "the message is empty"
        raise JudgeError(f"the judge's model sent no chat completion: {problem}")
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _kind(reading: Reading) -> str | None:
    return reading.problem.kind if reading.problem else None


def _gate(answer: Answer) -> str | None:
    """Why no model need be asked."""
    if answer.finish is None:
        return "the agent did not finish"
    if answer.finish != "give_answer":
        return "the agent gave up"
    return None if answer.final_answer.strip() else "the answer is empty"
