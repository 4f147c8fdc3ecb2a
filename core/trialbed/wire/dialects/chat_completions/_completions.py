"""Writes completions, as documents and as the chunks of a stream."""

from __future__ import annotations

import json

from trialbed.wire._events import event_bytes
from trialbed.wire._exchange import Document, ModelAnswer, ModelRequest, TokenLogprob
from trialbed.wire.dialects._values import PIECE, pieces
from trialbed.wire.dialects.chat_completions._flaws import DONE_EVENT, OWN_FLAWS, repeat_choices
from trialbed.wire.dialects.chat_completions._requests import is_raw


def write_message(answer: ModelAnswer) -> Document:
    """Return the assistant's message.

    Calls without an id get one: ``call_0``, ``call_1`` … Reasoning is sent as ``reasoning_content``.
    """
    message: Document = {"role": "assistant", "content": answer.content, **answer.fields}
    if answer.refusal:
        message["refusal"] = answer.refusal
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_call(answer, number, call.arguments) for number, call in enumerate(answer.calls)]
    return message


def write_answer(
    answer: ModelAnswer, request: ModelRequest, flaw: str = "", *, piece: int | None = PIECE
) -> tuple[bytes, ...]:
    """Return the body of the response to a request; ``[DONE]`` stands in the last part of a stream.

    Args:
        flaw: one of ``FLAWS``, or empty.
        piece: characters of text or arguments in one chunk; None sends the whole message in one.

    Raises:
        LookupError: there is no such flaw.
    """
    raw = is_raw(request.document)
    if not request.stream:
        documents = OWN_FLAWS.change([write_document(answer, raw=raw, choices=request.generation.choices)], flaw)
        return (json.dumps(documents[0]).encode(),)
    chunks = write_chunks(answer, raw=raw, piece=piece, with_usage=request.wants_usage)
    parts = [event_bytes(chunk) for chunk in OWN_FLAWS.change(repeat_choices(chunks, request.generation.choices), flaw)]
    return OWN_FLAWS.break_events((*parts[:-1], parts[-1] + DONE_EVENT), flaw)


def write_document(answer: ModelAnswer, *, raw: bool = False, choices: int = 1) -> Document:
    """Return the completion for a request that does not stream.

    Args:
        raw: whether it answers a raw prompt: its choice has a text instead of a message.
    """
    said = {"text": _raw_text(answer)} if raw else {"message": write_message(answer)}
    document = {**_head(answer, "chat.completion"), "choices": [_choice(answer, said, answer.finish_reason)]}
    if answer.usage is not None:
        document["usage"] = dict(answer.usage)
    return repeat_choices([document], choices)[0]


def write_chunks(
    answer: ModelAnswer, *, raw: bool = False, piece: int | None = PIECE, with_usage: bool = True
) -> list[Document]:
    """Return the chunks of a stream: the role, the pieces, the finish reason, the usage.

    Args:
        raw: whether it answers a raw prompt.
        piece: characters of text or arguments in one chunk; None sends the whole message in one.
        with_usage: whether the usage, where it is reported, comes in a last chunk without choices.
    """
    said: list[Document]
    if raw:
        text = _raw_text(answer)
        said = [{"text": text}] if piece is None else [{"text": part} for part in pieces(text, piece)]
    else:
        deltas = [_whole_delta(answer)] if piece is None else _deltas(answer, piece)
        said = [{"delta": delta} for delta in deltas]
    last: Document = {"text": ""} if raw else {"delta": {}}
    choices = [*(_choice(answer, part, None) for part in said), _choice(answer, last, answer.finish_reason)]
    head = _head(answer, "chat.completion.chunk")
    chunks: list[Document] = [{**head, "choices": [choice]} for choice in choices]
    if with_usage and answer.usage is not None:
        chunks.append({**head, "choices": [], "usage": dict(answer.usage)})
    return chunks


def write_error(message: str, kind: str, *, code: str | None = None, param: str | None = None) -> Document:
    """Return an error as OpenAI's clients read it.

    Args:
        kind: the error's ``type``, such as ``invalid_request_error``.
    """
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _deltas(answer: ModelAnswer, piece: int) -> list[Document]:
    deltas: list[Document] = [{"role": "assistant", "content": None if answer.content is None else ""}]
    deltas += [{"reasoning_content": part} for part in pieces(answer.reasoning, piece)]
    deltas += [{"content": part} for part in pieces(answer.content or "", piece)]
    deltas += [{"refusal": part} for part in pieces(answer.refusal, piece)]
    for number, call in enumerate(answer.calls):
        deltas.append({"tool_calls": [{"index": number, **_call(answer, number, "")}]})
        deltas += [
            {"tool_calls": [{"index": number, "function": {"arguments": part}}]}
            for part in pieces(call.arguments, piece)
        ]
    return deltas


def _whole_delta(answer: ModelAnswer) -> Document:
    message = write_message(answer)
    if answer.calls:
        message["tool_calls"] = [{"index": number, **call} for number, call in enumerate(message["tool_calls"])]
    return message


def _raw_text(answer: ModelAnswer) -> str:
    """Return the text for a raw prompt, in which calls stand as Kimi's models write them."""
    text = answer.content or ""
    if not answer.calls:
        return text
    written = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{place}<|tool_call_argument_begin|>{call.arguments}<|tool_call_end|>"
        for place, call in enumerate(answer.calls)
    )
    return f"{text}<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"


def _call(answer: ModelAnswer, number: int, arguments: str) -> Document:
    call = answer.calls[number]
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}


def _choice(answer: ModelAnswer, said: Document, finish_reason: str | None) -> Document:
    return {"index": 0, **said, "logprobs": _logprobs(answer.logprobs), "finish_reason": finish_reason}


def _logprobs(tokens: tuple[TokenLogprob, ...] | None) -> Document | None:
    if tokens is None:
        return None
    written = [
        {**_token(each.token, each.logprob), "top_logprobs": [_token(*other) for other in each.alternatives]}
        for each in tokens
    ]
    return {"content": written}


def _token(token: str, logprob: float) -> Document:
    return {"token": token, "logprob": logprob, "bytes": None}


def _head(answer: ModelAnswer, kind: str) -> Document:
    head = {"id": f"chatcmpl-{answer.id}", "object": kind, "created": answer.created, "model": answer.model}
    return {**head, "system_fingerprint": answer.fingerprint} if answer.fingerprint else head
