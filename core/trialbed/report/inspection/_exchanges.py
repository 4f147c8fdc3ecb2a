"""The requests and calls of a trial, in the order in which the server saw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from trialbed.records import ApiCall, ModelCall, WireLog
from trialbed.report.inspection._problems import as_text
from trialbed.wire import ModelMessage, recorded_answer, recorded_request


@dataclass(frozen=True)
class RequestMessage:
    """A message of a request.

    Attributes:
        role: who speaks; ``?`` where the message does not say, and ``message`` where it is none.
        text: its content as text, empty where it has none.
        calls: the calls that it asks for: name, and arguments as text.
    """

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ModelExchange:
    """A request to the model and its answer.

    Attributes:
        place: counted from 1 among the requests of the trial.
        call: as the gateway saw it.
        at: seconds from the beginning of the trial's first exchange to that of this one.
        known: how many messages came before in an earlier request; None where the request cannot be read.
        messages: the others.
        offered: the tools on offer, where they are not those of an earlier request.
        thoughts: the model's reasoning, as far as it wrote it.
        text: its answer.
        unread: an answer that cannot be read, as it came.
    """

    place: int
    call: ModelCall
    at: float
    known: int | None
    messages: tuple[RequestMessage, ...]
    offered: tuple[str, ...] | None
    thoughts: str = ""
    text: str = ""
    unread: str = ""


@dataclass(frozen=True)
class ToolExchange:
    """A call of an Api and its response.

    Attributes:
        place: counted from 1 among the calls of the trial.
        call: as the virtual API saw it.
        at: seconds from the beginning of the trial's first exchange to that of this one.
    """

    place: int
    call: ApiCall
    at: float


Exchange: TypeAlias = ModelExchange | ToolExchange


def exchanges(wire: WireLog) -> tuple[Exchange, ...]:
    """Yield every request to the model, with its new messages, and every call of an Api, as they began."""
    seen: list[Any] = []
    # A trial may be open for long before its agent begins: the worker has to start first.
    began = min([call.started for call in wire.model_calls] + [call.started for call in wire.api_calls], default=0.0)
    read: list[Exchange] = [
        _model_exchange(place, call, call.started - began, seen) for place, call in enumerate(wire.model_calls, 1)
    ]
    made: list[Exchange] = [
        ToolExchange(place, call, call.started - began) for place, call in enumerate(wire.api_calls, 1)
    ]
    return tuple(sorted([*read, *made], key=lambda one: (one.call.started, isinstance(one, ToolExchange), one.place)))


def _model_exchange(place: int, call: ModelCall, at: float, seen: list[Any]) -> ModelExchange:
    """Adds the request's messages and tools to those that were seen."""
    request = recorded_request(call)
    if request is None or request.problem:
        return ModelExchange(place, call, at, None, (), None, **_answer(call))
    messages = request.messages
    known = next((at for at, message in enumerate(messages) if message.source not in seen), len(messages))
    seen.extend(message.source for message in messages[known:])
    tools = tuple(tool.name for tool in request.tools)
    offered = None if tools in seen else tools
    seen.append(tools)
    return ModelExchange(place, call, at, known, tuple(map(_message, messages[known:])), offered, **_answer(call))


def _message(message: ModelMessage) -> RequestMessage:
    if not isinstance(message.source, Mapping):
        return RequestMessage("message", as_text(message.content))
    calls = tuple((call.name or "?", call.arguments) for call in message.calls)
    return RequestMessage(message.role or "?", _plain(message.content), calls)


def _plain(content: Any) -> str:
    """The text of a content, which may come in parts."""
    if isinstance(content, list):
        return "\n".join(
            str(part["text"]) if isinstance(part, Mapping) and "text" in part else as_text(part) for part in content
        )
    return "" if content is None else as_text(content)


def _answer(call: ModelCall) -> dict[str, str]:
    """Return the parts of an exchange that hold the model's answer."""
    answer = recorded_answer(call).answer
    return {
        "thoughts": answer.reasoning,
        "text": _plain(answer.content),
        "unread": "" if answer.source else call.response,
    }
