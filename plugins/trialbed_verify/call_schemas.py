"""Checks the arguments of tool calls against the schemas that the request declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict

from trialbed.wire import dump_json, parse_json_fast
from trialbed.wire.json_schemas import JsonSchema, SchemaProblem, Undecided, UnusableSchema

MAX_COMPILED = 4096
"""Schemas that are kept compiled."""

MAX_REASONS = 5

SHOWN = 200
"""Characters of a verdict's details."""

UNUSABLE = "unusable_schema"
"""The one reason that is the test set's fault instead of the vendor's."""

REASONS = {
    "required": "missing_required",
    "dependentRequired": "missing_required",
    "type": "wrong_type",
    "enum": "not_in_enum",
    "const": "not_in_enum",
    "additionalProperties": "extra_property",
    "unevaluatedProperties": "extra_property",
    "falseSchema": "extra_property",
}
"""JSON Schema keyword -> reason; any other keyword is ``constraint``."""


class CallFields(TypedDict):
    """The verdict on a call in a row of results."""

    name: str
    valid: bool | None
    reasons: list[str]
    detail: str


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """The verdict on one call.

    Attributes:
        valid: None if the declared schema itself cannot be used.
        reasons: of ``unknown_tool``, ``invalid_json``, ``missing_required``, ``wrong_type``, ``not_in_enum``,
            ``extra_property``, ``constraint`` and ``unusable_schema``, each at most once.
        detail: the first reason in words.
    """

    name: str
    valid: bool | None
    reasons: tuple[str, ...] = ()
    detail: str = ""

    def as_json(self) -> CallFields:
        """For the results file."""
        return {"name": self.name, "valid": self.valid, "reasons": list(self.reasons), "detail": self.detail}


def call_verdicts(calls: Iterable[Any], tools: Any) -> tuple[CallVerdict, ...]:
    """Return the verdict on each call of a response, given the tools of its request."""
    declared = declared_schemas(tools)
    return tuple(
        _custom_verdict(call["custom"], tools) if _is_custom(call) else _verdict(call, declared) for call in calls
    )


def usable_schema(schema: Any) -> JsonSchema | str:
    """Return a schema that checks values, which is compiled once and fetches nothing; else why it cannot be used."""
    try:
        return _compile(dump_json(schema))
    except (ValueError, RecursionError) as error:
        return str(error)


@lru_cache(maxsize=MAX_COMPILED)
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


def _verdict(call: Any, declared: Mapping[str, Any]) -> CallVerdict:
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    name = function.get("name")
    if not isinstance(name, str) or name not in declared:
        return CallVerdict(str(name), False, ("unknown_tool",), f"offered: {_cut(', '.join(declared)) or 'nothing'}")
    try:
        arguments = _arguments(function.get("arguments"))
    except (ValueError, RecursionError):
        return CallVerdict(name, False, ("invalid_json",), _cut(str(function.get("arguments"))))
    schema = _arguments_schema(declared[name])
    if isinstance(schema, str):
        return CallVerdict(name, None, (UNUSABLE,), _cut(schema))
    try:
        problems = schema.problems(arguments, MAX_REASONS)
    except Undecided as error:
        return CallVerdict(name, None, (UNUSABLE,), _cut(str(error)))
    if not problems:
        return CallVerdict(name, True)
    return CallVerdict(name, False, tuple(dict.fromkeys(map(_reason, problems))), _cut(problems[0].message))


def _is_custom(call: Any) -> bool:
    return isinstance(call, dict) and call.get("type") == "custom" and isinstance(call.get("custom"), dict)


def _custom_verdict(custom: Mapping[str, Any], tools: Any) -> CallVerdict:
    """The verdict on a call of a tool that takes any text."""
    offered = [tool.get("custom") for tool in tools or () if isinstance(tool, dict)]
    names = [tool["name"] for tool in offered if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
    name = custom.get("name")
    if name not in names:
        return CallVerdict(str(name), False, ("unknown_tool",), f"offered: {_cut(', '.join(names)) or 'nothing'}")
    valid = isinstance(custom.get("input"), str)
    return CallVerdict(str(name), valid, () if valid else ("wrong_type",))


def declared_schemas(tools: Any) -> dict[str, Any]:
    """Tool name -> schema of its arguments, as a request declares them; if a name is repeated, the first counts."""
    declared: dict[str, Any] = {}
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            declared.setdefault(function["name"], function.get("parameters"))
    return declared


def all_valid(verdicts: Iterable[CallVerdict]) -> bool | None:
    """Return whether all calls of a response that can be checked are valid; None if none can be checked."""
    checked = [verdict.valid for verdict in verdicts if verdict.valid is not None]
    return all(checked) if checked else None


def _arguments(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("\ufeff"):
        # A mark that a reader of bytes may skip does not belong to a text.
        raise ValueError("a byte-order mark")
    return parse_json_fast(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _reason(problem: SchemaProblem) -> str:
    return REASONS.get(problem.keyword, "constraint")
