"""Checks the arguments of tool calls against the schemas that the request declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypedDict

from trialbed.wire import dump_json, parse_json_fast
from trialbed.wire.json_schemas import JsonSchema, Undecided, UnusableSchema

SHOWN = 200
"""Characters of a verdict's details."""

UNUSABLE = "unusable_schema"
"""The one reason that is the test set's fault instead of the vendor's."""

REASONS = {
    **dict.fromkeys(("required", "dependentRequired"), "missing_required"),
    "type": "wrong_type",
    **dict.fromkeys(("enum", "const"), "not_in_enum"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "falseSchema"), "extra_property"),
}
"""JSON Schema keyword -> reason; any other keyword is ``constraint``."""


class CallFields(TypedDict):
    """The verdict on a call, as a row of results has it.

    Attributes:
        valid: None if the declared schema itself cannot be used.
        reasons: of ``unknown_tool``, ``invalid_json``, ``missing_required``, ``wrong_type``, ``not_in_enum``,
            ``extra_property``, ``constraint`` and ``unusable_schema``, each at most once.
    """

    name: str
    valid: bool | None
    reasons: list[str]
    detail: str


def call_verdicts(calls: Iterable[Any], tools: Any) -> list[CallFields]:
    """Return the verdict on each call of a response, given the tools of its request."""
    declared = declared_schemas(tools)
    return [_verdict(call, tools, declared) for call in calls]


def usable_schema(schema: Any) -> JsonSchema | str:
    """Return a schema that checks values, which is compiled once and fetches nothing; else why it cannot be used."""
    try:
        return _compile(dump_json(schema))
    except (ValueError, RecursionError) as error:
        return str(error)


@lru_cache(maxsize=4096)
def _compile(text: bytes) -> JsonSchema | str:
    try:
        return JsonSchema(parse_json_fast(text))
    except UnusableSchema as error:
        return str(error)


def schema_fault(declared: Any) -> str | None:
    """Return the reason why the declared schema of a tool cannot be used; None if it can be."""
    found = _arguments_schema(declared)
    return found if isinstance(found, str) else None


def _arguments_schema(declared: Any) -> JsonSchema | str:
    return usable_schema({"type": "object"} if declared is None or declared == {} else declared)


def _verdict(call: Any, tools: Any, declared: Mapping[str, Any]) -> CallFields:
    is_custom = isinstance(call, dict) and call.get("type") == "custom" and isinstance(call.get("custom"), dict)
    function = _part(call, "custom" if is_custom else "function")
    offered = declared_schemas(tools, "custom") if is_custom else declared
    name, value = function.get("name"), function.get("input" if is_custom else "arguments")
    if not isinstance(name, str) or name not in offered:
        detail = f"offered: {_cut(', '.join(offered)) or 'nothing'}"
        return {"name": str(name), "valid": False, "reasons": ["unknown_tool"], "detail": detail}
    # A custom tool takes any text.
    schema = usable_schema({"type": "string"}) if is_custom else _arguments_schema(offered[name])
    try:
        arguments = value if is_custom else _arguments(value)
        problems = () if isinstance(schema, str) else schema.problems(arguments)
    except Undecided as error:
        schema, problems = str(error), ()
    except (ValueError, RecursionError):
        return {"name": name, "valid": False, "reasons": ["invalid_json"], "detail": _cut(str(value))}
    if isinstance(schema, str):
        return {"name": name, "valid": None, "reasons": [UNUSABLE], "detail": _cut(schema)}
    reasons = dict.fromkeys(REASONS.get(problem.keyword, "constraint") for problem in problems)
    detail = _cut(problems[0].message) if problems else ""
    return {"name": name, "valid": not problems, "reasons": [*reasons], "detail": detail}


def _part(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def declared_schemas(tools: Any, kind: str = "function") -> dict[str, Any]:
    """Tool name -> schema of its arguments, as a request declares them; if a name is repeated, the first counts."""
    found: dict[str, Any] = {}
    for tool in tools if isinstance(tools, list) else ():
        function = _part(tool, kind)
        if isinstance(function.get("name"), str):
            found.setdefault(function["name"], function.get("parameters"))
    return found


def all_valid(verdicts: Iterable[CallFields]) -> bool | None:
    """Return whether all calls of a response that can be checked are valid; None if none can be checked."""
    checked = [verdict["valid"] for verdict in verdicts if verdict["valid"] is not None]
    return all(checked) if checked else None


def _arguments(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("\ufeff"):
        # A mark that a reader of bytes may skip does not belong to a text.
        raise ValueError("a byte-order mark")
    return parse_json_fast(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
