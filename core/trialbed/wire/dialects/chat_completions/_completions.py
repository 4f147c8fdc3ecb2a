"""Builds completions, as documents and as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from trialbed.wire._events import DONE_EVENT, event_bytes
from trialbed.wire._exchange import Document, ModelAnswer

PIECE = 8
"""Characters of text or arguments in one chunk of a stream."""


@dataclass(frozen=True, kw_only=True)
class Completion(ModelAnswer):
    """A completion with one choice, before it is written.

    Calls without an id get one: ``call_0``, ``call_1`` … Reasoning is sent as ``reasoning_content``.

    Attributes:
        raw: whether it answers a raw prompt: its choice has a text instead of a message.
        message_fields: further fields of the message, as vendors add them; a stream has them only where the whole
            message comes in one chunk.
        choice_fields: further fields of the choice, such as ``logprobs``.
        fields: further fields of the document and of each chunk.
    """

    raw: bool = False
    message_fields: Mapping[str, Any] = field(default_factory=dict)
    choice_fields: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: ModelAnswer) -> Completion:
        """Return the completion that says the same as an answer."""
        if isinstance(answer, cls):
            return answer
        return cls(**{part.name: getattr(answer, part.name) for part in fields(answer)})

    def message(self) -> Document:
        """Return the assistant's message."""
        message: Document = {"role": "assistant", "content": self.content, **self.message_fields}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [self._call(number, call.arguments) for number, call in enumerate(self.calls)]
        return message

    def document(self) -> Document:
        """The answer to a request that does not stream."""
        said = {"text": self.content or ""} if self.raw else {"message": self.message()}
        document = {**self._head("chat.completion"), "choices": [self._choice(said, self.finish_reason)]}
        return document if self.usage is None else {**document, "usage": self.usage}

    def chunks(self, *, piece: int | None = PIECE, with_usage: bool = True) -> list[Document]:
        """The answer's chunks: the role, the pieces, the finish reason, the usage.

        Args:
            piece: characters of text or arguments in one chunk; None sends the whole message in one.
            with_usage: whether the usage, where it is reported, comes in a last chunk without choices.
        """
        deltas = [self._whole_delta()] if piece is None else self._deltas(piece)
        said = [{"text": delta["content"] or ""} for delta in deltas] if self.raw else [{"delta": d} for d in deltas]
        last: Document = {"text": ""} if self.raw else {"delta": {}}
        choices = [*(self._choice(part, None) for part in said), self._choice(last, self.finish_reason)]
        head = self._head("chat.completion.chunk")
        chunks: list[Document] = [{**head, "choices": [choice]} for choice in choices]
        if with_usage and self.usage is not None:
            chunks.append({**head, "choices": [], "usage": self.usage})
        return chunks

    def events(self, *, piece: int | None = PIECE, with_usage: bool = True) -> Iterator[bytes]:
        """The stream's events, ``[DONE]`` included; the arguments are those of ``chunks``."""
        yield from map(event_bytes, self.chunks(piece=piece, with_usage=with_usage))
        yield DONE_EVENT

    def _deltas(self, piece: int) -> list[Document]:
        texts = [{"content": part} for part in _pieces(self.content or "", piece)]
        if self.raw:
            return texts
        deltas: list[Document] = [{"role": "assistant", "content": None if self.content is None else ""}]
        deltas += [{"reasoning_content": part} for part in _pieces(self.reasoning, piece)]
        deltas += texts
        for number, call in enumerate(self.calls):
            deltas.append({"tool_calls": [{"index": number, **self._call(number, "")}]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": part}}]}
                for part in _pieces(call.arguments, piece)
            ]
        return deltas

    def _whole_delta(self) -> Document:
        message = self.message()
        if self.calls:
            message["tool_calls"] = [{"index": number, **call} for number, call in enumerate(message["tool_calls"])]
        return message

    def _call(self, number: int, arguments: str) -> Document:
        call = self.calls[number]
        function = {"name": call.name, "arguments": arguments}
        return {"id": call.id or f"call_{number}", "type": "function", "function": function}

    def _choice(self, said: Document, finish_reason: str | None) -> Document:
        return {"index": 0, **said, **self.choice_fields, "finish_reason": finish_reason}

    def _head(self, kind: str) -> Document:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, **self.fields}


def write_document(answer: ModelAnswer) -> Document:
    """The answer to a request that does not stream."""
    return Completion.of(answer).document()


def write_events(answer: ModelAnswer, *, piece: int | None = PIECE, with_usage: bool = True) -> Iterator[bytes]:
    """The answer as the events of a stream, ``[DONE]`` included; the arguments are those of ``Completion.chunks``."""
    return Completion.of(answer).events(piece=piece, with_usage=with_usage)


def usage_document(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    """The usage of a completion, with its total."""
    total = prompt_tokens + completion_tokens
    return {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total}


def write_error(message: str, kind: str, *, code: str | None = None, param: str | None = None) -> Document:
    """An error as OpenAI's clients read it.

    Args:
        kind: the error's ``type``, such as ``invalid_request_error``.
    """
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))
