"""The requests and calls of a trial, in the order in which the server saw them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trialbed.cli.show._text import Line
from trialbed.records import shown_name
from trialbed.report.inspection import (
    ModelExchange,
    ToolExchange,
    api_name,
    as_text,
    detail_text,
    exchanges,
    expectation_lines,
    reason_text,
)

if TYPE_CHECKING:
    from trialbed.records import WireLog


def conversation(wire: WireLog) -> Iterator[Line]:
    """Yield every request to the model, with its new messages and its answer, and every call of an Api."""
    for one in exchanges(wire):
        if isinstance(one, ToolExchange):
            yield from _api_call(one)
        else:
            yield from _model_call(one)


def _model_call(one: ModelExchange) -> Iterator[Line]:
    call = one.call
    usage = f", {call.usage.prompt_tokens:,} + {call.usage.completion_tokens:,} tokens" if call.usage else ""
    ended = f", {call.finish_reason}" if call.finish_reason else ""
    what = f"request {one.place}: status {call.status} in {call.duration:.3f} s{usage}{ended}"
    yield Line(f"+{one.at:.3f} s  {what}", 1)
    if call.translated:
        yield Line(f"put to the model's endpoint in another dialect: {call.translated}", 2)
    for attempt in call.attempts:
        yield Line(f"repeated by the gateway after: {attempt.error or f'status {attempt.status}'}", 2)
    yield from _request(one)
    if call.error:
        yield Line(f"error: {call.error}", 2)
    yield from _response(one)


def _request(one: ModelExchange) -> Iterator[Line]:
    """The messages that no earlier request had, and the tools where they are others."""
    if one.known is None:
        yield Line(f"sent: {one.call.request}", 2)
        return
    if one.known:
        yield Line(f"({one.known} {'message' if one.known == 1 else 'messages'} as before)", 2)
    for message in one.messages:
        if message.text:
            yield Line(f"{message.role}: {message.text}", 2)
        yield from (Line(f"{message.role} asks for: {name} {given}", 2) for name, given in message.calls)
    if one.offered is not None:
        yield Line(f"offered: {', '.join(one.offered) or 'no tools'}", 2)


def _response(one: ModelExchange) -> Iterator[Line]:
    for said, text in (("answered", one.unread), ("model thinks", one.thoughts), ("model", one.text)):
        if text:
            yield Line(f"{said}: {text}", 2)
    for sent in one.call.tool_calls:
        problem = f"  [{sent.problem}]" if sent.problem else ""
        name = sent.name if sent.tool_name == sent.name else f"{sent.name} (the tool {sent.tool_name})"
        yield Line(f"model asks for: {name} {sent.arguments}{problem}", 2)


def _api_call(one: ToolExchange) -> Iterator[Line]:
    call = one.call
    offered = "" if call.offered else " (not offered)"
    made = f", {call.provenance}" if call.provenance else ""
    status = "" if call.status == 200 else f", status {call.status}"
    yield Line(
        f"+{one.at:.3f} s  call {one.place}: {api_name(call)}{offered} in {call.duration:.3f} s{status}{made}", 1
    )
    yield Line(f"arguments: {as_text(call.arguments)}", 2)
    if call.error:
        yield Line(f"error: {call.error}", 2)
    if call.response not in (None, ""):
        yield Line(f"response: {as_text(call.response)}", 2)


def claims(result: Any) -> Iterator[Line]:
    """Yield the agent's claims."""
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
    """Yield each score with its evidence, by the names that tables have."""
    width = max((len(shown_name(score.name)) for score in result.scores), default=0)
    return [line for score in result.scores for line in _score(score, width)]


def _score(score: Any, width: int) -> Iterator[Line]:
    value = "-" if score.value is None else f"{score.value:.4g}"
    name = shown_name(score.name)
    yield Line(f"{name:<{width}}  {' '.join(filter(None, (value, score.label)))}{_reason(score)}", 1)
    for one in expectation_lines(score):
        yield Line(one, 2)


def _reason(score: Any) -> str:
    reason, method = reason_text(score), score.detail.get("method")
    if not reason:
        found = detail_text(score)
        return f": {found}" if found else ""
    by_judge = method and score.failure is None and method != "expectations"
    return f": {reason}" + (f" (judge {method})" if by_judge else "")


def findings(verified: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the end of a case of a verification, and the problems of the endpoint's answer."""
    yield Line(f"outcome: {verified['outcome']}", 1)
    for found in verified["findings"]:
        evidence = f": {found['evidence']}" if found["evidence"] else ""
        yield Line(f"{found['kind']} ({found['severity']}): {found['message']}{evidence}", 1)
