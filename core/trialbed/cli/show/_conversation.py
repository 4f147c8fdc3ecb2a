"""The requests and calls of a trial, in the order in which the server saw them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trialbed.chat import first_message, offered_functions, parse_json, read_body, read_stream
from trialbed.cli.show._problems import api_name, as_text
from trialbed.cli.show._text import Line

if TYPE_CHECKING:
    from trialbed.records import ApiCall, ModelCall, WireLog

Message = Mapping[str, Any]

NOTHING: tuple[Any, ...] = (None, [], {}, "")
LISTED = ("sent", "claimed", "right")
"""Details of scores that list calls, which are shown before."""


def conversation(wire: WireLog) -> Iterator[Line]:
    """Every request to the model with what is new in it and its answer, and every call of an Api with its response."""
    seen: list[Any] = []
    events = [(call.started, kind, place, call) for kind, place, call in _numbered(wire)]
    for _, _, place, call in sorted(events, key=lambda event: event[:3]):
        if hasattr(call, "api"):
            yield from _api_call(place, call)
        else:
            yield from _model_call(place, call, seen)


def _numbered(wire: WireLog) -> Iterator[tuple[int, int, Any]]:
    yield from ((0, place, call) for place, call in enumerate(wire.model_calls, 1))
    yield from ((1, place, call) for place, call in enumerate(wire.api_calls, 1))


def _model_call(place: int, call: ModelCall, seen: list[Any]) -> Iterator[Line]:
    usage = f", {call.usage.prompt_tokens:,} + {call.usage.completion_tokens:,} tokens" if call.usage else ""
    ended = f", {call.finish_reason}" if call.finish_reason else ""
    yield Line(
        f"+{call.started:.3f} s  request {place}: status {call.status} in {call.duration:.3f} s{usage}{ended}", 1
    )
    for attempt in call.attempts:
        yield Line(f"repeated by the gateway after: {attempt.error or f'status {attempt.status}'}", 2)
    yield from _request(call, seen)
    if call.error:
        yield Line(f"error: {call.error}", 2)
    yield from _response(call)


def _request(call: ModelCall, seen: list[Any]) -> Iterator[Line]:
    """The messages that no earlier request had, and the tools where they are others."""
    try:
        request = parse_json(call.request.encode(errors="replace"))
    except (ValueError, RecursionError):
        request = None
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list):
        yield Line(f"sent: {call.request}", 2)
        return
    known = next((place for place, message in enumerate(messages) if message not in seen), len(messages))
    if known:
        yield Line(f"({known} {'message' if known == 1 else 'messages'} as before)", 2)
    yield from (line for message in messages[known:] for line in _message(message))
    seen.extend(messages[known:])
    tools = ", ".join(str(function["name"]) for function in offered_functions(request))
    if tools not in seen:
        seen.append(tools)
        yield Line(f"offered: {tools or 'no tools'}", 2)


def _message(message: Any) -> Iterator[Line]:
    if not isinstance(message, Mapping):
        yield Line(f"message: {as_text(message)}", 2)
        return
    role, content = message.get("role", "?"), message.get("content")
    if content not in (None, "", []):
        yield Line(f"{role}: {_plain(content)}", 2)
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        found: Message = function if isinstance(function, Mapping) else {}
        yield Line(f"{role} asks for: {found.get('name', '?')} {as_text(found.get('arguments', ''))}", 2)


def _plain(content: Any) -> str:
    """The text of a content, which may come in parts."""
    if isinstance(content, list):
        return "\n".join(
            str(part["text"]) if isinstance(part, Mapping) and "text" in part else as_text(part) for part in content
        )
    return as_text(content)


def _response(call: ModelCall) -> Iterator[Line]:
    body = call.response.encode(errors="replace")
    reading = read_stream(body) if call.stream and call.status == 200 else read_body(body)
    message = first_message(reading.response)
    if not message and call.response:
        yield Line(f"answered: {call.response}", 2)
    for key in ("reasoning_content", "reasoning", "content"):
        if message.get(key):
            yield Line(f"{'model' if key == 'content' else 'model thinks'}: {_plain(message[key])}", 2)
    for sent in call.tool_calls:
        problem = f"  [{sent.problem}]" if sent.problem else ""
        name = sent.name if sent.tool_name == sent.name else f"{sent.name} (the tool {sent.tool_name})"
        yield Line(f"model asks for: {name} {sent.arguments}{problem}", 2)


def _api_call(place: int, call: ApiCall) -> Iterator[Line]:
    offered = "" if call.offered else " (not offered)"
    made = f", {call.provenance}" if call.provenance else ""
    status = "" if call.status == 200 else f", status {call.status}"
    yield Line(
        f"+{call.started:.3f} s  call {place}: {api_name(call)}{offered} in {call.duration:.3f} s{status}{made}", 1
    )
    yield Line(f"arguments: {as_text(call.arguments)}", 2)
    if call.error:
        yield Line(f"error: {call.error}", 2)
    if call.response not in (None, ""):
        yield Line(f"response: {as_text(call.response)}", 2)


def claims(result: Any) -> Iterator[Line]:
    """What the agent says it did."""
    answer = result.outcome.answer
    if answer is None:
        yield Line("The agent gave no answer.", 1)
        return
    if not answer.reports_calls:
        yield Line("The agent does not report its calls.", 1)
    for call in answer.calls:
        arguments = "" if call.arguments is None else f" {as_text(call.arguments)}"
        yield Line(f"called: {call.name}{arguments}", 1)
        if call.response:
            yield Line(f"response: {call.response}", 2)
    if answer.reports_calls and not answer.calls:
        yield Line("No calls.", 1)
    if answer.usage is not None:
        yield Line(f"tokens: {answer.usage.prompt_tokens:,} + {answer.usage.completion_tokens:,}", 1)
    if answer.model_turns is not None:
        yield Line(f"requests to the model: {answer.model_turns}", 1)


def scores(result: Any) -> Sequence[Line]:
    """Each score with what it rests on."""
    found = [
        (score.name, "-" if score.value is None else f"{score.value:.4g}", score.label or "", _reason(score))
        for score in result.scores
    ]
    width = max((len(name) for name, *_ in found), default=0)
    return [
        Line(f"{name:<{width}}  {' '.join(part for part in (value, label) if part)}{reason}", 1)
        for name, value, label, reason in found
    ]


def _reason(score: Any) -> str:
    if score.failure is not None:
        return f": {score.failure.message}"
    if "reason" in score.detail:
        reason, method = score.detail["reason"], score.detail.get("method")
        return f": {reason}" + (f" (judge {method})" if method else "")
    known = {key: value for key, value in score.detail.items() if value not in NOTHING and key not in LISTED}
    return f": {as_text(known)}" if known else ""
