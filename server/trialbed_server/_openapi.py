"""The OpenAPI document of the server's own routes, which are plain ASGI or Starlette's: neither documents itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import trialbed
from trialbed.records import EndpointStatus, TrialOpening, TrialRegistration, WireLog

Document = dict[str, Any]
Answers = dict[Any, str | Document]
"""Status -> the schema of the body, or its name; empty where there is none."""

INFO: Mapping[str, str] = MappingProxyType(
    {
        "title": "Trialbed",
        "version": trialbed.__version__,
        "summary": "The virtual API, the gateway to models, and the control of trials",
    }
)

REF = "#/components/schemas/{model}"

OBJECT: Document = {"type": "object"}
TEXT: Document = {"type": "string"}
NUMBER: Document = {"type": "number"}
FLAG: Document = {"type": "boolean"}
OBJECTS: Document = {"type": "array", "items": OBJECT}
TEXT_OR_LIST: Document = {"anyOf": [TEXT, {"type": "array"}]}

RECORDS: tuple[type[BaseModel], ...] = (TrialRegistration, TrialOpening, WireLog, EndpointStatus)


def _object(properties: Document, *required: str, **more: Any) -> Document:
    """Return the schema of an object; without names, all of its properties are required."""
    return {"type": "object", "properties": properties, "required": list(required or properties), **more}


SCHEMAS: Mapping[str, Document] = {
    "VirtualRequest": _object(
        {
            "category": TEXT,
            "tool_name": TEXT,
            "api_name": TEXT,
            "tool_input": {
                "description": "The arguments, or their JSON as a text; an empty text is an empty object.",
                "anyOf": [OBJECT, TEXT],
            },
            "strip": {**TEXT, "description": "Ignored."},
            "toolbench_key": {**TEXT, "description": "Ignored."},
        },
        description="A call of an Api, as StableToolBench's clients send it.",
        example={
            "category": "Geography",
            "tool_name": "Atlas of Tarnmere",
            "api_name": "City by name",
            "tool_input": {"name": "Velmora"},
            "strip": "",
            "toolbench_key": "EMPTY",
        },
    ),
    "VirtualAnswer": _object(
        {"error": {**TEXT, "description": "Empty, or what is wrong."}, "response": {"description": "Any JSON value."}},
        example={"error": "", "response": {"name": "Velmora", "population": 412000}},
    ),
    "Problems": _object(
        {"detail": OBJECTS},
        example={"detail": [{"type": "missing", "loc": ["body", "strip"], "msg": "Field required", "input": {}}]},
    ),
    "Refused": _object(
        {"error": TEXT}, example={"error": "no trial has this token; open one with POST /control/trials"}
    ),
    "CompletionRequest": _object(
        {"model": TEXT, "messages": OBJECTS, "tools": OBJECTS, "stream": FLAG},
        *("model", "messages"),
        description="A chat completion, as OpenAI defines it; passed on as it is.",
        example={"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]},
    ),
    "OpenAIError": _object(
        {"error": OBJECT},
        example={"error": {"message": "no trial has this token", "type": "invalid_request_error", "code": "404"}},
    ),
    "ResponseRequest": _object(
        {"model": TEXT, "input": TEXT_OR_LIST, "instructions": TEXT, "tools": OBJECTS, "stream": FLAG},
        *("model", "input"),
        description="A response, as OpenAI defines it; passed on as it is.",
        example={"model": "gpt-4o-mini", "input": "How is the weather in Oslo?"},
    ),
    "EmbeddingRequest": _object(
        {"model": TEXT, "input": TEXT_OR_LIST},
        description="A request for vectors of texts, as OpenAI defines it.",
        example={"model": "text-embedding-3-small", "input": ["How is the weather in Oslo?"]},
    ),
    "MessageRequest": _object(
        {"model": TEXT, "max_tokens": {"type": "integer"}, "messages": OBJECTS, "tools": OBJECTS, "stream": FLAG},
        *("model", "max_tokens", "messages"),
        description="A message, as Anthropic defines it; passed on as it is.",
        example={
            "model": "claude-opus-4-8",
            "max_tokens": 1024,
            "messages": [{"role": "user", "content": "How is the weather in Oslo?"}],
        },
    ),
    "AnthropicError": _object(
        {"type": {"const": "error"}, "error": OBJECT},
        example={"type": "error", "error": {"type": "not_found_error", "message": "no trial has this token"}},
    ),
    "Opened": _object({"trial": TEXT, "waited": NUMBER, "setup": TEXT}, "trial", example={"trial": "trial-0123456789"}),
    "Opening": {
        "description": "A registration, or the name of the setup of one before.",
        "anyOf": [{"$ref": REF.format(model=name)} for name in ("TrialRegistration", "TrialOpening")],
        "example": {"trial": "trial-0123456789", "model": "scripted:gold"},
    },
    "Waited": _object({"waited": NUMBER}, example={"waited": 0.5}),
    "Amount": _object({"amount": {**NUMBER, "minimum": 0}}, example={"amount": 0.25}),
    "JsonRpc": {
        "type": "object",
        "description": "A message of JSON-RPC 2.0.",
        "example": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    },
}

ASKED = {
    "chat/completions": ("CompletionRequest", "OpenAIError"),
    "responses": ("ResponseRequest", "OpenAIError"),
    "messages": ("MessageRequest", "AnthropicError"),
    "embeddings": ("EmbeddingRequest", "OpenAIError"),
}
"""Path of requests to a model -> the schemas of a request and of an error."""

REFUSALS = (403, 404, 410, 413, 429)

TRIAL: Document = {
    "name": "trial",
    "in": "path",
    "required": True,
    "description": "The token of the trial.",
    "schema": {**TEXT, "pattern": "^[A-Za-z0-9_-]{8,64}$"},
    "example": "trial-0123456789",
}

RESPONSE: Document = {
    "name": "response",
    "in": "path",
    "required": True,
    "description": "The id of a response.",
    "schema": {**TEXT, "pattern": "^[A-Za-z0-9_-]{1,100}$"},
    "example": "resp_1",
}


def describe_routes(found: Document, *, token: bool) -> Document:
    """Return a document with the server's routes among those that it has.

    Args:
        token: whether requests need a bearer token.
    """
    paths = found.setdefault("paths", {})
    for path, operations in _paths():
        paths.setdefault(path, {}).update(operations)
    components = found.setdefault("components", {})
    _, definitions = models_json_schema([(record, "validation") for record in RECORDS], ref_template=REF)
    components.setdefault("schemas", {}).update({**definitions.get("$defs", {}), **SCHEMAS})
    if token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _paths() -> Iterator[tuple[str, Document]]:
    for prefix in ("", "/t/{trial}"):
        yield from ((f"{prefix}{path}", operations) for path, operations in _of_trials(trial=bool(prefix)))
    mcp: Answers = {200: "JsonRpc", 202: "", "default": "JsonRpc"}
    yield (
        "/t/{trial}/mcp",
        {"post": _operation("A trial's tools over the Model Context Protocol", mcp, body="JsonRpc", trial=True)},
    )
    waited: Answers = {200: "Waited", 404: "Refused"}
    yield (
        "/t/{trial}/waited",
        {"get": _operation("The seconds for which a trial waited for repeated requests", waited, trial=True)},
    )
    yield "/control/endpoint", {"get": _operation("The state of the models' endpoint", {200: "EndpointStatus"})}
    opened: Answers = {201: "Opened", **dict.fromkeys((400, 404, 409, 413), "Refused"), 422: "Problems"}
    yield "/control/trials", {"post": _operation("Open a trial", opened, body="Opening")}
    one: Answers = {200: "Opened", 404: "Refused"}
    yield (
        "/control/trials/{trial}",
        {
            "parameters": [TRIAL],
            "get": _operation("The state of an open trial", one),
            "put": _operation("Report that the opener of a trial is still there", one),
            "delete": _operation("Close a trial; its wire log", {200: "WireLog", 404: "Refused"}),
        },
    )
    yield (
        "/control/spending",
        {
            "get": _operation("What simulators have asked of their model", {200: OBJECT}),
            "post": _operation(
                "Count what other helpers have used against the run's budget", {204: "", 400: "Refused"}, body="Amount"
            ),
        },
    )
    yield "/control/untagged", {"get": _operation("What was served without a trial", {200: OBJECT})}
    yield "/healthz", {"get": _operation("The server's version and endpoint", {200: OBJECT})}
    yield "/readyz", {"get": _operation("The state of the response cache", {200: OBJECT, 503: OBJECT})}
    yield "/metrics", {"get": _operation("Figures for Prometheus", {200: ""})}


def _of_trials(*, trial: bool) -> Iterator[tuple[str, Document]]:
    """Yield the paths that there are with and without the token of a trial."""
    called: Answers = {200: "VirtualAnswer", **dict.fromkeys(REFUSALS, "VirtualAnswer"), 422: "Problems"}
    summary = "Call an Api of a trial" if trial else "Call an Api"
    yield "/virtual", {"post": _operation(summary, called, body="VirtualRequest", trial=trial)}
    for path, (request, error) in ASKED.items():
        answers: Answers = {200: OBJECT, **dict.fromkeys(REFUSALS, error), "default": error}
        yield f"/v1/{path}", {"post": _operation("Ask the model", answers, body=request, trial=trial)}
    kept: Answers = {200: OBJECT, "default": "OpenAIError"}
    response = _operation("A response of this trial", kept, trial=trial)
    operations = {"get": response, "delete": {**response, "summary": "Forget a response"}}
    yield "/v1/responses/{response}", {"parameters": [RESPONSE], **operations}
    counted: Answers = {200: OBJECT, "default": "AnthropicError"}
    count = _operation("Count the tokens of a message", counted, body="MessageRequest", trial=trial)
    yield "/v1/messages/count_tokens", {"post": count}
    yield "/v1/models", {"get": _operation("The models", kept, trial=trial)}


def _operation(summary: str, answers: Answers, *, body: str = "", trial: bool = False) -> Document:
    """Return an operation.

    Args:
        body: the name of the schema of the request's.
    """
    operation: Document = {
        "summary": summary,
        "responses": {str(status): _answer(status, schema) for status, schema in answers.items()},
    }
    if body:
        media = {"schema": {"$ref": REF.format(model=body)}, "example": SCHEMAS[body]["example"]}
        operation["requestBody"] = {"required": True, "content": {"application/json": media}}
    return {**operation, "parameters": [TRIAL]} if trial else operation


def _answer(status: int | str, schema: str | Document) -> Document:
    good = isinstance(status, int) and status < 300
    described: Document = {"description": "The answer" if good else "Refused, with the reason"}
    if not schema:
        return described
    shown = {"$ref": REF.format(model=schema)} if isinstance(schema, str) else schema
    return {**described, "content": {"application/json": {"schema": shown}}}
