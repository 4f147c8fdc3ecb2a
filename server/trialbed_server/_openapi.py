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

INFO: Mapping[str, str] = MappingProxyType(
    {
        "title": "Trialbed",
        "version": trialbed.__version__,
        "summary": "The virtual API, the gateway to models, and the control of trials",
    }
)

REF = "#/components/schemas/{model}"

VIRTUAL_REQUEST: Document = {
    "type": "object",
    "description": "A call of an Api, as StableToolBench's clients send it.",
    "properties": {
        "category": {"type": "string"},
        "tool_name": {"type": "string"},
        "api_name": {"type": "string"},
        "tool_input": {
            "description": "The arguments, or their JSON as a text; an empty text is an empty object.",
            "anyOf": [{"type": "object"}, {"type": "string"}],
        },
        "strip": {"type": "string", "description": "Ignored."},
        "toolbench_key": {"type": "string", "description": "Ignored."},
    },
    "required": ["category", "tool_name", "api_name", "tool_input", "strip", "toolbench_key"],
    "example": {
        "category": "Geography",
        "tool_name": "Atlas of Tarnmere",
        "api_name": "City by name",
        "tool_input": {"name": "Velmora"},
        "strip": "",
        "toolbench_key": "EMPTY",
    },
}

VIRTUAL_ANSWER: Document = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "Empty, or what is wrong."},
        "response": {"description": "Any JSON value."},
    },
    "required": ["error", "response"],
    "example": {"error": "", "response": {"name": "Velmora", "population": 412000}},
}

PROBLEMS: Document = {
    "type": "object",
    "properties": {"detail": {"type": "array", "items": {"type": "object"}}},
    "required": ["detail"],
    "example": {"detail": [{"type": "missing", "loc": ["body", "strip"], "msg": "Field required", "input": {}}]},
}

REFUSED: Document = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
    "example": {"error": "no trial has this token; open one with POST /control/trials"},
}

COMPLETION_REQUEST: Document = {
    "type": "object",
    "description": "A chat completion, as OpenAI defines it; passed on as it is.",
    "properties": {
        "model": {"type": "string"},
        "messages": {"type": "array", "items": {"type": "object"}},
        "tools": {"type": "array", "items": {"type": "object"}},
        "stream": {"type": "boolean"},
    },
    "required": ["model", "messages"],
    "example": {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "How is the weather in Oslo?"}]},
}

OPENAI_ERROR: Document = {
    "type": "object",
    "properties": {"error": {"type": "object"}},
    "required": ["error"],
    "example": {"error": {"message": "no trial has this token", "type": "invalid_request_error", "code": "404"}},
}

RESPONSE_REQUEST: Document = {
    "type": "object",
    "description": "A response, as OpenAI defines it; passed on as it is.",
    "properties": {
        "model": {"type": "string"},
        "input": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        "instructions": {"type": "string"},
        "tools": {"type": "array", "items": {"type": "object"}},
        "stream": {"type": "boolean"},
    },
    "required": ["model", "input"],
    "example": {"model": "gpt-4o-mini", "input": "How is the weather in Oslo?"},
}

EMBEDDING_REQUEST: Document = {
    "type": "object",
    "description": "A request for vectors of texts, as OpenAI defines it.",
    "properties": {"model": {"type": "string"}, "input": {"anyOf": [{"type": "string"}, {"type": "array"}]}},
    "required": ["model", "input"],
    "example": {"model": "text-embedding-3-small", "input": ["How is the weather in Oslo?"]},
}

MESSAGE_REQUEST: Document = {
    "type": "object",
    "description": "A message, as Anthropic defines it; passed on as it is.",
    "properties": {
        "model": {"type": "string"},
        "max_tokens": {"type": "integer"},
        "messages": {"type": "array", "items": {"type": "object"}},
        "tools": {"type": "array", "items": {"type": "object"}},
        "stream": {"type": "boolean"},
    },
    "required": ["model", "max_tokens", "messages"],
    "example": {
        "model": "claude-opus-4-8",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "How is the weather in Oslo?"}],
    },
}

ANTHROPIC_ERROR: Document = {
    "type": "object",
    "properties": {"type": {"const": "error"}, "error": {"type": "object"}},
    "required": ["type", "error"],
    "example": {"type": "error", "error": {"type": "not_found_error", "message": "no trial has this token"}},
}

RPC: Document = {"type": "object", "description": "A message of JSON-RPC 2.0."}

OPENED: Document = {
    "type": "object",
    "properties": {"trial": {"type": "string"}, "waited": {"type": "number"}, "setup": {"type": "string"}},
    "required": ["trial"],
    "example": {"trial": "trial-0123456789"},
}

OPENING: Document = {
    "description": "A registration, or the name of the setup of one before.",
    "anyOf": [{"$ref": REF.format(model=name)} for name in ("TrialRegistration", "TrialOpening")],
}

RECORDS: tuple[type[BaseModel], ...] = (TrialRegistration, TrialOpening, WireLog, EndpointStatus)
SCHEMAS: Mapping[str, Document] = {
    "VirtualRequest": VIRTUAL_REQUEST,
    "VirtualAnswer": VIRTUAL_ANSWER,
    "Problems": PROBLEMS,
    "Refused": REFUSED,
    "CompletionRequest": COMPLETION_REQUEST,
    "OpenAIError": OPENAI_ERROR,
    "ResponseRequest": RESPONSE_REQUEST,
    "EmbeddingRequest": EMBEDDING_REQUEST,
    "MessageRequest": MESSAGE_REQUEST,
    "AnthropicError": ANTHROPIC_ERROR,
    "Opened": OPENED,
    "Opening": OPENING,
    "JsonRpc": RPC,
}

REGISTRATION_EXAMPLE: Document = {"trial": "trial-0123456789", "model": "scripted:gold"}


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
        yield f"{prefix}/virtual", {"post": _virtual(prefix)}
        yield f"{prefix}/v1/chat/completions", {"post": _ask(prefix, "CompletionRequest", "OpenAIError")}
        yield f"{prefix}/v1/responses", {"post": _ask(prefix, "ResponseRequest", "OpenAIError")}
        yield f"{prefix}/v1/responses/{{response}}", {"parameters": [RESPONSE], **_response(prefix)}
        yield f"{prefix}/v1/messages", {"post": _ask(prefix, "MessageRequest", "AnthropicError")}
        yield f"{prefix}/v1/messages/count_tokens", {"post": _count(prefix)}
        yield f"{prefix}/v1/embeddings", {"post": _ask(prefix, "EmbeddingRequest", "OpenAIError")}
        yield f"{prefix}/v1/models", {"get": _models(prefix)}
    yield "/t/{trial}/mcp", {"post": _mcp()}
    yield "/t/{trial}/waited", {"get": _waited()}
    yield (
        "/control/endpoint",
        {"get": _operation("The state of the models' endpoint", {200: _schema("EndpointStatus")})},
    )
    yield (
        "/control/trials",
        {
            "post": _operation(
                "Open a trial",
                {201: _schema("Opened"), **{status: _schema("Refused") for status in (400, 404, 409, 413)}}
                | {422: _schema("Problems")},
                body=_body("Opening", REGISTRATION_EXAMPLE),
            )
        },
    )
    one = {200: _schema("Opened"), 404: _schema("Refused")}
    yield (
        "/control/trials/{trial}",
        {
            "parameters": [TRIAL],
            "get": _operation("The state of an open trial", one),
            "put": _operation("Report that the opener of a trial is still there", one),
            "delete": _operation("Close a trial; its wire log", {200: _schema("WireLog"), 404: _schema("Refused")}),
        },
    )
    number = {"type": "object", "properties": {"amount": {"type": "number", "minimum": 0}}, "required": ["amount"]}
    example = {"amount": 0.25}
    amount = {"required": True, "content": {"application/json": {"schema": number, "example": example}}}
    yield (
        "/control/spending",
        {
            "get": _operation("What simulators have asked of their model", {200: {"type": "object"}}),
            "post": _operation(
                "Count what other helpers have used against the run's budget",
                {204: {}, 400: _schema("Refused")},
                body=amount,
            ),
        },
    )
    yield "/healthz", {"get": _operation("The server's version and endpoint", {200: {"type": "object"}})}
    ready = {status: {"type": "object"} for status in (200, 503)}
    yield "/readyz", {"get": _operation("The state of the response cache", ready)}
    yield "/metrics", {"get": _operation("Figures for Prometheus", {200: {}})}
    yield "/control/untagged", {"get": _operation("What was served without a trial", {200: {"type": "object"}})}


TRIAL: Document = {
    "name": "trial",
    "in": "path",
    "required": True,
    "description": "The token of the trial.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
    "example": "trial-0123456789",
}


RESPONSE: Document = {
    "name": "response",
    "in": "path",
    "required": True,
    "description": "The id of a response.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,100}$"},
    "example": "resp_1",
}


def _virtual(prefix: str) -> Document:
    refusals = {status: _schema("VirtualAnswer") for status in (403, 404, 410, 413, 429)}
    answers = {200: _schema("VirtualAnswer"), **refusals, 422: _schema("Problems")}
    return _operation(
        f"Call an Api{' of a trial' if prefix else ''}", answers, body=_body("VirtualRequest"), prefix=prefix
    )


def _ask(prefix: str, request: str, error: str) -> Document:
    errors: dict[int | str, Document] = {status: _schema(error) for status in (403, 404, 410, 413, 429)}
    answers = {200: {"type": "object"}, **errors, "default": _schema(error)}
    return _operation("Ask the model", answers, body=_body(request), prefix=prefix)


def _response(prefix: str) -> Document:
    answers: dict[int | str, Document] = {200: {"type": "object"}, "default": _schema("OpenAIError")}
    found = _operation("A response of this trial", answers, prefix=prefix)
    return {"get": found, "delete": {**found, "summary": "Forget a response"}}


def _count(prefix: str) -> Document:
    answers: dict[int | str, Document] = {200: {"type": "object"}, "default": _schema("AnthropicError")}
    return _operation("Count the tokens of a message", answers, body=_body("MessageRequest"), prefix=prefix)


def _models(prefix: str) -> Document:
    answers: dict[int | str, Document] = {200: {"type": "object"}, "default": _schema("OpenAIError")}
    return _operation("The models", answers, prefix=prefix)


def _mcp() -> Document:
    answers: dict[int | str, Document] = {200: _schema("JsonRpc"), 202: {}, "default": _schema("JsonRpc")}
    example = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return _operation(
        "A trial's tools over the Model Context Protocol", answers, body=_body("JsonRpc", example), prefix="/t/{trial}"
    )


def _waited() -> Document:
    seconds = {"type": "object", "properties": {"waited": {"type": "number"}}, "required": ["waited"]}
    answers: dict[int | str, Document] = {200: {**seconds, "example": {"waited": 0.5}}, 404: _schema("Refused")}
    return _operation("The seconds for which a trial waited for repeated requests", answers, prefix="/t/{trial}")


def _operation(
    summary: str, answers: Mapping[Any, Document], *, body: Document | None = None, prefix: str = ""
) -> Document:
    responses = {str(status): _answer(status, schema) for status, schema in answers.items()}
    operation: Document = {"summary": summary, "responses": responses}
    if body is not None:
        operation["requestBody"] = body
    if prefix:
        operation["parameters"] = [TRIAL]
    return operation


def _answer(status: int | str, schema: Document) -> Document:
    good = isinstance(status, int) and status < 300
    described: Document = {"description": "The answer" if good else "Refused, with the reason"}
    return {**described, "content": {"application/json": {"schema": schema}}} if schema else described


def _body(model: str, example: Document | None = None) -> Document:
    media: Document = {"schema": _schema(model)}
    shown = example if example is not None else SCHEMAS.get(model, {}).get("example")
    return {"required": True, "content": {"application/json": {**media, "example": shown} if shown else media}}


def _schema(model: str) -> Document:
    return {"$ref": REF.format(model=model)}
