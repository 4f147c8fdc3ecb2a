"""Describes an Api to a model, and reads the model's reply."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trialbed.contracts import Simulation
from trialbed.model_access import Unreadable, read_object
from trialbed.records import Api, Json, Parameter

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess

REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "response": {}},
    "required": ["error", "response"],
    "additionalProperties": False,
}
"""The JSON Schema of a reply, for endpoints with structured output."""

_LONGEST_BROKEN = 200_000
"""Characters of a broken reply in which fields are looked for."""

_FIELD = re.compile(r'"(error|response)"\s*:\s*')


def api_document(api: Api | None, ref: str) -> dict[str, Json]:
    """An Api's documentation as StableToolBench's models read it; the name alone where there is none."""
    if api is None:
        return {"api_name": ref}
    return {
        "api_name": api.api_name,
        "api_description": api.description,
        "required_parameters": [_parameter(each) for each in api.required_parameters],
        "optional_parameters": [_parameter(each) for each in api.optional_parameters],
        "tool_description": api.tool_description,
        "tool_name": api.tool_name,
        "tool_category": api.category,
    }


def _parameter(parameter: Parameter) -> dict[str, Json]:
    return parameter.model_dump(mode="json", include={"name", "type", "description", "default"})


def read_simulation(reply: str) -> Simulation:
    """The answer in a reply.

    Raises:
        Unreadable: there is none, or it says nothing.
    """
    return _simulation(read_object(reply, "error", "response").value)


def read_truncated(reply: str) -> Simulation:
    """The answer in a reply that may end too early, inside its response.

    Raises:
        Unreadable: there is none, or it says nothing.
    """
    try:
        return read_simulation(reply)
    except Unreadable:
        found = _salvage(reply)
        if "response" not in found:
            raise
        return _simulation({"error": "", **found})


def _salvage(reply: str) -> dict[str, Any]:
    """The fields of a broken object: a text that does not end is taken as far as it goes."""
    found: dict[str, Any] = {}
    decoder = json.JSONDecoder(strict=False)
    for match in _FIELD.finditer(reply[:_LONGEST_BROKEN]):
        if match[1] in found:
            continue
        try:
            value, _ = decoder.raw_decode(reply, match.end())
        except (ValueError, RecursionError):
            if not reply.startswith('"', match.end()):
                continue
            value = reply[match.end() + 1 :].rstrip('"}` \n').replace('\\"', '"').replace("\\n", "\n")
        found[match[1]] = value
    return found


def _simulation(value: Mapping[str, Any]) -> Simulation:
    error, response = value["error"], value["response"]
    if not isinstance(error, str):
        raise Unreadable("its field error is not a text")
    if not error and response in ("", None, {}, []):
        raise Unreadable("its response is empty")
    try:
        json.dumps(response, allow_nan=False)
    except ValueError as problem:
        raise Unreadable("its response holds a number that is not finite") from problem
    return Simulation(error=error, response=response)


def revision_of(version: str, settings: Mapping[str, Json], api: Api | None) -> str:
    """A digest of the prompts, the model's settings and the Api's documentation."""
    document = "" if api is None else api.model_dump_json()
    text = json.dumps([version, dict(settings), document], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def model_settings(model: ModelAccess | None, prompt: str, **sampling: Json) -> dict[str, Json]:
    """The settings that the answers of a model depend on."""
    name = "" if model is None else model.model
    return {"model": name, "prompt": prompt, **sampling}
