"""The wire log, with everything that the server saw of a trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from trialbed.records._base import Json, Record
from trialbed.records._models import Usage
from trialbed.records._queries import ApiRef, ToolSpec
from trialbed.records._scores import Failure

CircuitState = Literal["closed", "open", "down"]


class EndpointStatus(Record):
    """The condition of an endpoint for a server's models.

    Attributes:
        state: ``closed`` while it works; ``open`` while it only fails and requests wait; ``down`` after it failed for
            so long that requests fail immediately (the states of a circuit breaker).
        answered: how many requests it has answered.
        reason: its last failure, in words, unless it works and no request waits.
        waiting: how many requests have failed and wait to be repeated, or are being repeated.
        held: how many wait for their turn, because of its own limit or the user's.
        at_a_time: how many it gets at a time, since it refused some for want of capacity; None for any number.
    """

    state: CircuitState = "closed"
    answered: int = 0
    reason: str = ""
    waiting: int = 0
    held: int = 0
    at_a_time: int | None = None


class SentCall(Record):
    """A tool call sent by the model. ``arguments`` is the raw text, ``problem`` says why it cannot be made.

    ``problem`` is ``unknown tool`` (a name that was not offered), ``invalid json`` or ``not an object``.

    Attributes:
        tool: the trial's tool that the framework offered under this name, if its name and description show it. Empty if
            the name is the tool's own, or belongs to no tool.
    """

    name: str
    arguments: str
    problem: str | None = None
    tool: str = ""

    @property
    def tool_name(self) -> str:
        """The name of the trial's tool, if the call is one's; else the name that was sent."""
        return self.tool or self.name


LossReason = Literal["not offered", "ambiguous", "no tools", "arguments"]
"""The reasons why a scripted model could not make a call; see ``LostCall``."""


class LostCall(Record):
    """A call of its script that a scripted model could not make, because of the tools that the framework offered.

    Attributes:
        position: the call's place in the script, from 0.
        tool: the trial's tool.
        reason: ``not offered`` (no function stands for the tool), ``ambiguous`` (several might), ``no tools`` (the
            request offered none at all) or ``arguments`` (the offered schema has no such arguments).
        detail: more of it, in words.
    """

    position: int
    tool: str
    reason: LossReason
    detail: str = ""


class FilledArgument(Record):
    """An argument that a scripted model made up, because the framework offered an optional one as required.

    Attributes:
        position: the call's place in the script, from 0; None for a call that is not in it.
        tool: the trial's tool.
        argument: its name, or path.
        value: the one made up: the default, else the first choice, else the least value of its type.
    """

    position: int | None
    tool: str
    argument: str
    value: Json = None


Cause = Literal["request", "endpoint", "limit", "gateway", "gone", "replay", "path"]

LimitName = Literal["max_steps", "max_trial_tokens", "timeout"]
"""The settings that limit a trial."""


class Attempt(Record):
    """One request of the gateway to the model's endpoint that failed and was repeated.

    Attributes:
        started: when it began, in seconds since the trial was opened; ``duration`` is in seconds, too.
        status: HTTP status of the endpoint, 0 if there was no response.
        error: what went wrong, in words.
        wait: seconds that the gateway waited before the next attempt.
    """

    started: float
    duration: float
    status: int = 0
    error: str = ""
    wait: float = 0.0


class ModelCall(Record):
    """One request to the gateway. Times are seconds; ``started`` counts from the opening of the trial.

    Attributes:
        first_token: seconds from the request to the first byte of the answer's body; None if none came.
        status: HTTP status given to the framework; 0 if the framework disconnected first.
        usage: the model's reported usage, if any.
        request: the request's body.
        response: the body given back, byte for byte, as text.
        text_calls: calls that the model wrote as text instead of sending them; they are never made.
        error: what went wrong, in words.
        cause: whose fault the error is: ``request`` (refused, or answered with 5xx every time, because of the request),
            ``endpoint`` (capacity, connection, no answer), ``limit`` (past one of the trial's limits), ``budget`` (the
            run may use no more), ``gateway`` (Trialbed's own), ``gone`` (the framework closed the connection),
            ``replay`` (a recorded model has no answer to it), ``path`` (nothing is served there, and no model was
            asked). None if the call succeeded.
        limit: the exceeded setting that it was refused for; None if it was not refused.
        attempts: the earlier attempts of the gateway, which failed and were repeated.
        waited: seconds of ``duration`` spent in failed attempts and in waiting for the next; not counted as the
            framework's.
        fault: the injected fault; may be empty. A request with one has no cause.
        dialect: of the request and its answer; empty for chat completions.
        other_model: the requested model, if it is not the trial's; ``(none)`` if the request names no model,
            ``(unreadable)`` if the body cannot be read. Empty for the trial's model.
        provoked: whether the endpoint refused it, and answered a plain request of the gateway's own in its place.
        recorded: seconds that the model took when this answer was recorded; None for a new answer.
        translated: the dialect that the endpoint was asked in, because it does not speak the request's. The answer was
            translated back. Empty if nothing was translated.
        added: the names of its headers, and after ``?`` the names in its query, that no usual client sends. They reach
            no endpoint.
    """

    # Stores of earlier versions have further fields.
    model_config = ConfigDict(extra="ignore")

    started: float
    duration: float
    first_token: float | None = None
    status: int
    stream: bool = False
    request: str
    response: str
    request_bytes: int
    response_bytes: int
    usage: Usage | None = None
    finish_reason: str | None = None
    tool_calls: tuple[SentCall, ...] = ()
    text_calls: tuple[SentCall, ...] = ()
    error: str | None = None
    cause: Cause | None = None
    limit: LimitName | None = None
    attempts: tuple[Attempt, ...] = ()
    waited: float = 0.0
    fault: str = ""
    dialect: str = ""
    other_model: str = ""
    provoked: bool = False
    recorded: float | None = None
    translated: str = ""
    added: tuple[str, ...] = ()


ObservedIn = Literal["server", "conversation"]
"""The place a call was seen, either Trialbed's server, or the conversation between agent and model."""


class ApiCall(Record):
    """One request to the virtual API.

    Attributes:
        api: the Api asked for, in the dataset's spelling if the trial has it, else unchanged.
        offered: whether the Api belongs to the trial.
        arguments: the parsed ``tool_input``, or its text if it cannot be parsed.
        error: the API error given back, empty on success.
        provenance: ``cache:<how it was made>``, ``real``, ``template``, ``mini``, ``llm:<model>`` …; empty on error.
        fault: the injected fault, an injected instruction with its code after a colon; may be empty.
        source: ``server`` for a request that Trialbed answered; ``conversation`` for a call of the agent's own tool,
            with its result taken from the model's requests. Its duration is the time between these requests.
    """

    started: float
    duration: float
    api: ApiRef
    offered: bool
    arguments: Json
    status: int = 200
    error: str = ""
    response: Json = None
    provenance: str = ""
    fault: str = ""
    source: ObservedIn = "server"

    @property
    def cached(self) -> bool:
        """Return whether the answer was made before, for an equal call."""
        return self.provenance.startswith("cache:")


class EmbeddingCall(Record):
    """One request for vectors of texts (``/v1/embeddings``).

    Attributes:
        status: HTTP status given to the framework; 0 if it disconnected first.
        model: the requested model.
        texts: how many it sent.
        tokens: of the texts, as reported; None if it was refused.
        estimated: whether the tokens are an estimate, because they were not reported.
    """

    started: float
    duration: float
    status: int
    model: str = ""
    texts: int = 0
    tokens: int | None = None
    estimated: bool = False


class WireTurn(Record):
    """A message of the user, and the agent's answer to it.

    Attributes:
        started: seconds from the opening of the trial to the message.
        answer: the text that the agent gave back; None if it gave none.
        why: of a user who answers, why the message was written: ``goal``, ``asked for order``, ``confirms``, …
        end: why this user wrote no other message.
        waited: seconds that the user took to write it.
        at_limit: whether the model still asked for calls when the agent had no request left (``max_steps``).
        user_calls: the calls of the user's own tools that followed the answer, before the next message.
    """

    started: float
    text: str
    answer: str | None = None
    why: str = ""
    end: str = ""
    waited: float = 0.0
    at_limit: bool = False
    user_calls: tuple[ApiCall, ...] = ()


class WireLog(Record):
    """Everything the server saw of one trial, in order of arrival.

    Attributes:
        model_name: the name of the model that the agent was given.
        lost: the calls of its script that a scripted model could not make in this trial.
        filled: the arguments that it made up.
        state: the trial's world after the calls; None if the Apis change nothing.
        failure: the first failure of a simulator or a world by its own fault, which is not the agent's.
        embedding_calls: requests for vectors of texts.
        own_tools: the agent's own tools that it called, or that the task names.
        turns: the messages of the user in a conversation, in order; empty if the task is one message.
    """

    trial: str
    opened_at: datetime
    model_name: str = ""
    model_calls: tuple[ModelCall, ...] = ()
    api_calls: tuple[ApiCall, ...] = ()
    lost: tuple[LostCall, ...] = ()
    filled: tuple[FilledArgument, ...] = ()
    state: Json = None
    failure: Failure | None = None
    embedding_calls: tuple[EmbeddingCall, ...] = ()
    own_tools: tuple[ToolSpec, ...] = ()
    turns: tuple[WireTurn, ...] = ()

    def all_said(self, answer: str) -> str:
        """Return what the agent answered to all messages of the user, the last answer included."""
        return "\n".join([*(turn.answer or "" for turn in self.turns[:-1]), answer])

    def span_of_turn(self, number: int) -> tuple[float, float]:
        """Return when a turn, counted from 1, begins, and when the next one does, in seconds since the opening."""
        return self.turns[number - 1].started, self.turns[number].started if number < len(self.turns) else math.inf

    def of_turn(self, number: int) -> WireLog:
        """Return the part of the log that belongs to one turn, counted from 1."""
        begins, ends = self.span_of_turn(number)
        model_calls = tuple(call for call in self.model_calls if begins <= call.started < ends)
        api_calls = tuple(call for call in self.api_calls if begins <= call.started < ends)
        return self.model_copy(update={"model_calls": model_calls, "api_calls": api_calls})

    def tools_of(self, served: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """Return the trial's tools and the agent's own, which replace tools of the same name."""
        own = {tool.name for tool in self.own_tools}
        return (*(tool for tool in served if tool.name not in own), *self.own_tools)
