"""Examines the arguments of an answer's calls against the schemas of its tools."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.call_schemas import call_verdicts
from trialbed_verify.findings._answers import AnsweredRow, function_of, objects_of
from trialbed_verify.findings._kinds import CALL_REASONS, Finding, finding

TEXT = re.compile(r'"((?:[^"\\]|\\.)*)\\?(?:"(\s*:)?|\Z)', re.DOTALL)
"""A text in JSON, of which one before a colon is a key; the last one may be cut off."""


def examine_schema(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield the verdicts on the calls, and oddities that verdicts leave out."""
    calls, verdicts = answer.made, answer.row.get("calls")
    if not calls:
        return
    if not isinstance(verdicts, list):
        verdicts = [verdict.as_json() for verdict in call_verdicts(calls, answer.tools)]
    unknown = False
    for number, (call, verdict) in enumerate(zip(calls, objects_of(verdicts), strict=False), 1):
        for reason in verdict.get("reasons") or ():
            unknown |= reason == "unknown_tool"
            if reason in CALL_REASONS:
                said = verdict.get("detail") or CALL_REASONS[reason]
                yield finding(reason, f"call {number}, of {verdict.get('name')}: {CALL_REASONS[reason]} ({said})", call)
    for function in map(function_of, calls):
        name, text = function.get("name"), function.get("arguments")
        near = [other for other in answer.tool_schemas if _bare(other) == _bare(name)] if unknown else []
        if near and name not in answer.tool_schemas:
            yield finding("name_nearly_offered", f"{name} was called, and {near[0]} was offered", function)
        if isinstance(text, str) and text:
            yield from _arguments(function, text)


def _bare(name: Any) -> str:
    """Return a name without prefix, case and spaces; a line end if it is not a name."""
    return re.split(r"[.:/]", name.strip())[-1].casefold() if isinstance(name, str) else "\n"


def _arguments(function: Mapping[str, Any], text: str) -> Iterator[Finding]:
    if text.lstrip()[:1] == "{":
        keys = [name for name, colon in TEXT.findall(text) if colon] if text.count(":") > 1 else ()
        if len(set(keys)) == len(keys):
            return
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(name for name, _ in found)
        repeated.extend(name for name, count in counts.items() if count > 1)
        return dict(found)

    try:
        value = json.loads(text, object_pairs_hook=pairs)
        if not isinstance(value, dict):
            said = f"the arguments are a {type(value).__name__}, not an object"
            yield finding("arguments_not_object", said, function)
        elif repeated:
            yield finding("duplicate_keys", f"an object in the arguments has the key {repeated[0]!r} twice", function)
        if isinstance(value, str) and isinstance(json.loads(value), dict):
            yield finding("arguments_encoded_twice", "the arguments are JSON within a string", function)
    except (ValueError, RecursionError):
        return
