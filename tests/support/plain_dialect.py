"""A dialect of a few lines: requests say a text and name tools, and answers are a text or a call."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from trialbed.wire import Call, ModelAnswer, ModelMessage, ModelRequest, OfferedTool, Reading, ToolChoice, failed

NAME = "plain_dialect"
PATH = "plain"
HEADERS: Mapping[str, str] = {}


class PlainRequest(ModelRequest):
    """``{"model": …, "said": [[role, text], …], "may_call": [name, …]}``."""

    @cached_property
    def messages(self) -> tuple[ModelMessage, ...]:
        """The conversation."""
        return tuple(
            ModelMessage(role=role, content=text, source=[role, text]) for role, text in self.document.get("said", ())
        )

    @cached_property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools."""
        return tuple(OfferedTool(name, parameters={"type": "object"}) for name in self.document.get("may_call", ()))

    @property
    def tool_choice(self) -> ToolChoice:
        """Always free."""
        return ToolChoice()

    @property
    def settings(self) -> Mapping[str, Any]:
        """None."""
        return {}

    @property
    def prompt(self) -> Mapping[str, Any]:
        """All of it."""
        return self.document

    @property
    def wants_usage(self) -> bool:
        """Always."""
        return True

    def _problem(self) -> str:
        return "" if "said" in self.document else "nothing is said"


class PlainStream:
    """Reads a body of one line."""

    def __init__(self) -> None:
        self.first_token: float | None = None
        self.over = False
        self._body = b""

    def feed(self, chunk: bytes, now: float = 0.0) -> None:
        """Take a part of it."""
        self._body += chunk
        self.first_token = self.first_token or now

    def refuse(self, kind: str, message: str) -> None:
        """Do nothing."""

    def note(self, kind: str) -> None:
        """Do nothing."""

    def end(self, now: float = 0.0, cut: str | None = None) -> Reading:
        """Return the reading."""
        return failed("cut_stream", cut) if cut else read_body(self._body)


def read_request(document: Mapping[str, Any], problem: str = "") -> ModelRequest:
    """Read a request."""
    return PlainRequest(document, problem)


def read_answer(document: dict[str, Any] | None) -> ModelAnswer:
    """Read ``{"text": …}`` or ``{"call": [name, arguments]}``."""
    found = document or {}
    calls = (Call(*found["call"]),) if "call" in found else ()
    reason = "tool_calls" if calls else "stop"
    return ModelAnswer(
        content=found.get("text"), calls=calls, finish_reason=reason, usage=found.get("used"), source=found
    )


def read_body(body: bytes, content_type: str = "") -> Reading:
    """Read an answer."""
    try:
        document = json.loads(body)
    except ValueError as error:
        return failed("malformed_body", str(error))
    answer = read_answer(document)
    return Reading("tool_calls" if answer.calls else "stop", answer.finish_reason, answer=answer)


def open_stream(names: Collection[str]) -> PlainStream:
    """Return a reader."""
    return PlainStream()


def write_request(model: str, messages: Sequence[ModelMessage], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Write a request."""
    return {"model": model, "said": [[message.role, message.text] for message in messages], **settings}


def reply_formats(schema: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return none: replies have no form."""
    return ()


def read_error(body: str) -> str:
    """Read an error."""
    try:
        return str(json.loads(body)["problem"])
    except (ValueError, KeyError):
        return body


def write_message(answer: ModelAnswer) -> dict[str, Any]:
    """Write what the model says; of several calls, the last."""
    (*_, call) = answer.calls or (None,)
    return {"call": [call.name, call.arguments]} if call else {"text": answer.text}


def write_answer(answer: ModelAnswer, request: ModelRequest, *, piece: int | None = 8) -> tuple[bytes, ...]:
    """Write an answer as one line, streamed or not."""
    return (json.dumps({**write_message(answer), "used": answer.usage}).encode(),)


def write_error(message: str, kind: str, *, code: str | None = None) -> dict[str, Any]:
    """Write an error."""
    return {"problem": message}
