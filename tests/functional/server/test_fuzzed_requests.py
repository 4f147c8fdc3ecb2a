"""Malformed requests by the thousand: each gets an answer that blames it, and they cost nobody else anything."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from support.servers import SCHEMA, ServerProcess, registration

from trialbed.records import WireLog
from trialbed.wire import parse_json

REQUESTS, PER_TRIAL, AT_ONCE = 4_000, 500, 4
LARGEST = 100_000
"""Bytes of a request."""

CALL = {"name": "w", "arguments": '{"city": "Oslo"}'}
VALID: dict[str, dict[str, Any]] = {
    "chat/completions": {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "How is it in Oslo?"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": CALL}]},
            {"role": "tool", "tool_call_id": "a", "content": '{"temperature": 21.5}'},
        ],
        "tools": [{"type": "function", "function": {"name": "w", "description": "The weather.", "parameters": SCHEMA}}],
        "tool_choice": "auto",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "stream": False,
        "stream_options": {"include_usage": True},
        "temperature": 0,
    },
    "responses": {
        "model": "gpt-4o",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "How is it in Oslo?"}]},
            {"type": "function_call", "call_id": "a", **CALL},
            {"type": "function_call_output", "call_id": "a", "output": '{"temperature": 21.5}'},
        ],
        "tools": [{"type": "function", "name": "w", "description": "The weather.", "parameters": SCHEMA}],
        "tool_choice": "auto",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "stream": False,
        "store": True,
        "previous_response_id": None,
    },
    "messages": {
        "model": "gpt-4o",
        "max_tokens": 99,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How is it in Oslo?"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "w", "input": {"city": "Oslo"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "21.5 degrees"}]},
        ],
        "tools": [{"name": "w", "description": "The weather.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
        "stream": False,
    },
}
"""A right request of each dialect, by its path."""

NAMES = (
    *("type", "properties", "required", "enum", "const", "default", "anyOf", "oneOf", "allOf", "not", "if", "then"),
    *("items", "prefixItems", "minItems", "uniqueItems", "contains", "pattern", "patternProperties", "format"),
    *("minLength", "maxLength", "minimum", "maximum", "multipleOf", "$ref", "$defs", "$schema", "$id", "propertyNames"),
    *("additionalProperties", "minProperties", "dependentRequired", "model", "models", "content", "role", "id", "name"),
)
"""Names of fields that a reader may take for those of a schema or a message."""


def odd_value(draw: random.Random, depth: int = 0) -> Any:
    """Return a value that a request should not have, or not there."""
    simple: list[Any] = [None, True, 0, -1, 10**400, 1e308, 0.1, "", "\ud800", "a" * 3000, "#", "#/$defs/x", "(a+)+$"]
    simple += ["object", "integer", ["string", "null"], [], {}, "\x00", "‮", draw.choice(NAMES)]
    match draw.randrange(6 if depth < 4 else 3):
        case 0 | 1 | 2:
            return draw.choice(simple)
        case 3:
            return [odd_value(draw, depth + 1) for _ in range(draw.choice((1, 2, 5)))]
        case 4:
            return {draw.choice(NAMES): odd_value(draw, depth + 1) for _ in range(draw.choice((1, 3, 6)))}
        case _:
            return nested(draw.choice((5, 60, 190, 198, 250, 900)), draw.choice(NAMES))


def nested(levels: int, name: str) -> Any:
    """Return a value of so many levels."""
    value: Any = "x"
    for level in range(levels):
        value = {name: value} if level % 2 else [value]
    return value


def mutated(draw: random.Random, value: Any) -> Any:
    """Return a request with an odd part somewhere."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice([*value])
        match draw.randrange(12):
            case 0:
                return {name: part for name, part in value.items() if name != key}
            case 1:
                return {**value, draw.choice(NAMES): odd_value(draw)}
            case 2:
                return {
                    draw.choice((key.upper(), f"{key} ", "\ud800")) if name == key else name: part
                    for name, part in value.items()
                }
            case _:
                return {**value, key: mutated(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        place = draw.randrange(len(value))
        match draw.randrange(8):
            case 0:
                return [*value[:place], *value[place + 1 :]]
            case 1:
                return [*value[place:], *value * draw.choice((1, 1, 40))]
            case _:
                return [*value[:place], mutated(draw, value[place]), *value[place + 1 :]]
    return odd_value(draw)


def malformed(draw: random.Random, valid: Any) -> bytes:
    """Return the body of a malformed request."""
    body = b""
    while not 0 < len(body) < LARGEST:
        document = valid | {"stream": draw.random() < 0.2}
        for _ in range(draw.choice((1, 1, 2, 4))):
            document = mutated(draw, document)
        body = json.dumps(document).encode()
    place = draw.randrange(max(1, len(body)))
    match draw.randrange(12):
        case 0:
            return body[:place]
        case 1:
            return body[:place] + draw.randbytes(3) + body[place + draw.randrange(5) :]
        case 2:
            return body.replace(b'"', b"'", draw.randrange(3)) + draw.choice((b"", b"}", b"\x00", body))
    return body


def send(url: str, path: str, bodies: list[bytes]) -> Counter[int]:
    """Send requests over one connection; count the statuses of the answers."""
    parts = urlsplit(url)
    found: Counter[int] = Counter()
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    for body in bodies:
        connection.request("POST", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        found[answer.status] += 1
    connection.close()
    return found


@pytest.mark.slow(20)
@pytest.mark.parametrize("path", VALID)
def test_thousands_of_malformed_requests_cost_no_other_trial_anything(
    path: str, start: Callable[..., ServerProcess]
) -> None:
    server = start()
    draw = random.Random(path)
    tokens = [f"hostile-{number}" for number in range(REQUESTS // PER_TRIAL)]
    bodies = {token: [malformed(draw, VALID[path]) for _ in range(PER_TRIAL)] for token in tokens}
    with httpx.Client(base_url=server.url, timeout=30) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        for token in (*tokens, "honest-trial"):
            assert client.post("/control/trials", json=registration(trial=token)).status_code == 201
        sent = [pool.submit(send, server.url, f"/t/{token}/v1/{path}", bodies[token]) for token in tokens]
        slowest = 0.0
        while not all(one.done() for one in sent):
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
        statuses = sum((one.result() for one in sent), Counter[int]())
        assert (statuses.total(), max(statuses)) < (REQUESTS + 1, 500), statuses
        assert slowest < 1
        honest = client.post(f"/t/honest-trial/v1/{path}", json=VALID[path])
        assert honest.status_code == 200, honest.text
        for token in (*tokens, "honest-trial"):
            closed = client.delete(f"/control/trials/{token}")
            assert closed.status_code == 200, closed.text
            log = WireLog.model_validate(parse_json(closed.content))  # as the engine reads it
            assert {call.cause for call in log.model_calls} <= {None, "request"}
            assert len(log.model_calls) == (1 if token == "honest-trial" else PER_TRIAL)
