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

SETTINGS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "seed": "seed"}
"""Key of a request -> the end of its attribute's name."""


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
    opened = int(result.outcome.started_at.timestamp() * SECOND)
    failure = result.outcome.failure
    yield {
        "traceId": trace,
        "spanId": root,
        "name": f"invoke_agent {result.key.framework}",
        "kind": INTERNAL,
        **_times(opened, 0.0, result.outcome.wall_time),
        "attributes": _attributes({**_of_trial(run, result), **_of_person(annotation)}),
        "status": {"code": ERROR, "message": failure.message} if failure else {"code": OK},
    }
    log = int(result.wire.opened_at.timestamp() * SECOND)
    for place, call in enumerate(result.wire.model_calls):
        own = {"traceId": trace, "spanId": _digest(f"{trace} chat {place}", 8), "parentSpanId": root}
        yield {**own, **_chat(run.config.cell(result.key.framework).model, log, call)}
    names = {tool.api: tool.name for tool in run.tools_of(result)}
    for place, api_call in enumerate(result.wire.api_calls):
        own = {"traceId": trace, "spanId": _digest(f"{trace} tool {place}", 8), "parentSpanId": root}
        yield {**own, **_tool(log, api_call, names.get(api_call.api, api_call.api.title))}


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
    return {
        "name": f"chat {asked}",
        "kind": CLIENT,
        **_times(log, call.started, call.duration),
        "attributes": _attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": asked,
                **{f"gen_ai.request.{name}": settings.get(key) for key, name in SETTINGS.items()},
                "gen_ai.response.finish_reasons": [call.finish_reason] if call.finish_reason else None,
                "gen_ai.usage.input_tokens": call.usage.prompt_tokens if call.usage else None,
                "gen_ai.usage.output_tokens": call.usage.completion_tokens if call.usage else None,
                "gen_ai.input.messages": _json(
                    [_message(message) for message in messages if isinstance(message.source, Mapping)]
                ),
                "gen_ai.output.messages": _json(said) if said else None,
                "gen_ai.tool.definitions": _json(tools) if tools else None,
                "http.response.status_code": call.status,
                "error.type": (call.cause or str(call.status)) if call.error else None,
            }
        ),
        "status": {"code": ERROR, "message": call.error} if call.error else {"code": OK},
    }


def _tool(log: int, call: ApiCall, name: str) -> dict[str, Any]:
    return {
        "name": f"execute_tool {name}",
        "kind": INTERNAL,
        **_times(log, call.started, call.duration),
        "attributes": _attributes(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.arguments": _json(call.arguments),
                "gen_ai.tool.call.result": None if call.response is None else _json(call.response),
                "error.type": "api" if call.error else None,
                "trialbed.provenance": call.provenance or None,
                "trialbed.source": call.source,
            }
        ),
        "status": {"code": ERROR, "message": call.error} if call.error else {"code": OK},
    }


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
