"""A run as OpenTelemetry's spans, by its conventions for generative AI."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.records import Annotation, ApiCall, ModelCall, TrialResult
from trialbed.store import StoredRun
from trialbed.wire import ModelMessage, recorded_answer, recorded_request

INTERNAL, CLIENT = 1, 3
"""Kinds of spans in OTLP."""

OK, ERROR = 1, 2
"""Codes of their status."""

SECOND = 1_000_000_000

SETTINGS = ("temperature", "top_p", "max_tokens", "seed")
"""Keys of a request that have an attribute."""


def trial_spans(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Yield an export of OTLP in JSON for each trial that counts, as the collector's file exporter writes them.

    A trial is a trace: ``invoke_agent`` for the agent, below it ``chat`` for each request to the model and
    ``execute_tool`` for each call that reached the virtual API.
    """
    resource = {"attributes": _attributes({"service.name": "trialbed", "trialbed.run.id": run.run_id})}
    scope = {"name": "trialbed", "version": run.config.trialbed_version}
    for result in run.each_counted():
        spans = list(_spans(run, result, run.annotation_of(result.key)))
        yield {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def _spans(run: StoredRun, result: TrialResult, annotation: Annotation | None) -> Iterator[dict[str, Any]]:
    trace = _digest(json.dumps([run.run_id, result.key.model_dump(), result.attempt]), 16)
    root = _digest(f"{trace} agent", 8)
    outcome, failure = result.outcome, result.outcome.failure
    times = _times(int(outcome.started_at.timestamp() * SECOND), 0.0, outcome.wall_time)
    about = {**_of_trial(run, result), **_of_person(annotation)}
    error = None if failure is None else failure.message
    agent = _span(f"invoke_agent {result.key.framework}", INTERNAL, times, about, error)
    yield {"traceId": trace, "spanId": root, **agent}
    log, model = int(result.wire.opened_at.timestamp() * SECOND), run.config.cell(result.key.framework).model
    names = {tool.api: tool.name for tool in run.tools_of(result)}
    chats = (_chat(model, log, call) for call in result.wire.model_calls)
    tools = (_tool(log, call, names.get(call.api, call.api.title)) for call in result.wire.api_calls)
    for kind, spans in (("chat", chats), ("tool", tools)):
        for place, span in enumerate(spans):
            span_id = _digest(f"{trace} {kind} {place}", 8)
            yield {"traceId": trace, "spanId": span_id, "parentSpanId": root, **span}


def _span(
    name: str, kind: int, times: Mapping[str, str], attributes: Mapping[str, Any], error: str | None
) -> dict[str, Any]:
    status = {"code": OK} if error is None else {"code": ERROR, "message": error}
    return {"name": name, "kind": kind, **times, "attributes": _attributes(attributes), "status": status}


def _of_trial(run: StoredRun, result: TrialResult) -> dict[str, Any]:
    key, answer = result.key, result.outcome.answer
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": key.framework,
        "gen_ai.request.model": run.config.cell(key.framework).model,
        "gen_ai.conversation.id": result.trial,
        "error.type": result.outcome.failure.kind if result.outcome.failure else None,
        "trialbed.run.id": run.run_id,
        "trialbed.test_set": run.config.test_set,
        "trialbed.query.id": json.dumps(key.query_id),
        "trialbed.repeat": key.repeat,
        "trialbed.status": result.status,
        "trialbed.answer": answer.final_answer if answer else None,
        **{f"trialbed.score.{score.name}": score.value for score in result.scores},
    }


def _of_person(annotation: Annotation | None) -> dict[str, Any]:
    """Return the attributes of a person's words on a trial."""
    said = annotation.words if annotation else {}
    return {f"trialbed.annotation.{name}": value or None for name, value in said.items()}


def _chat(model: str, log: int, call: ModelCall) -> dict[str, Any]:
    request = recorded_request(call)
    asked = request.model if request is not None and request.model else model
    tools = [tool.source for tool in request.tools] if request is not None else []
    settings = request.settings if request is not None else {}
    messages = request.messages if request is not None else ()
    answer = recorded_answer(call).answer
    said = [{**_message(answer), "finish_reason": call.finish_reason}] if answer.source else None
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": asked,
        **{f"gen_ai.request.{name}": settings.get(name) for name in SETTINGS},
        "gen_ai.response.finish_reasons": [call.finish_reason] if call.finish_reason else None,
        "gen_ai.usage.input_tokens": call.usage.prompt_tokens if call.usage else None,
        "gen_ai.usage.output_tokens": call.usage.completion_tokens if call.usage else None,
        "gen_ai.input.messages": _json([_message(one) for one in messages if isinstance(one.source, Mapping)]),
        "gen_ai.output.messages": _json(said) if said else None,
        "gen_ai.tool.definitions": _json(tools) if tools else None,
        "http.response.status_code": call.status,
        "error.type": (call.cause or str(call.status)) if call.error else None,
    }
    return _span(f"chat {asked}", CLIENT, _times(log, call.started, call.duration), about, call.error or None)


def _tool(log: int, call: ApiCall, name: str) -> dict[str, Any]:
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": _json(call.arguments),
        "gen_ai.tool.call.result": None if call.response is None else _json(call.response),
        "error.type": "api" if call.error else None,
        "trialbed.provenance": call.provenance or None,
        "trialbed.source": call.source,
    }
    times = _times(log, call.started, call.duration)
    return _span(f"execute_tool {name}", INTERNAL, times, about, call.error or None)


def _message(message: ModelMessage) -> dict[str, Any]:
    """Return a message in parts."""
    content = message.content
    if message.role == "tool":
        answered = {"type": "tool_call_response", "id": message.call_id or None, "response": content}
        return {"role": message.role, "parts": [answered]}
    parts: list[Mapping[str, Any]] = []
    if isinstance(content, str) and content:
        parts.append({"type": "text", "content": content})
    parts += [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    parts += [
        {"type": "tool_call", "id": call.id or None, "name": call.name, "arguments": call.arguments}
        for call in message.calls
    ]
    return {"role": message.role, "parts": parts}


def _times(log: int, started: float, duration: float) -> dict[str, str]:
    begin = log + int(started * SECOND)
    return {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + int(duration * SECOND))}


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=size).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return attributes in the form of OTLP, without those that have no value."""
    return [{"key": key, "value": _any_value(value)} for key, value in values.items() if value is not None]


def _any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any_value(item) for item in value]}}
    return {"stringValue": str(value)}
