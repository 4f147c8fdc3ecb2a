"""Examines the arguments of an answer's calls against the schemas of its tools."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.call_schemas import call_verdicts
from trialbed_verify.findings._answers import AnsweredRow, function_of
from trialbed_verify.findings._kinds import CALL_REASONS, Finding, finding

TEXT = re.compile(r'"((?:[^"\\]|\\.)*)\\?(?:"(\s*:)?|\Z)', re.DOTALL)
"""A text in JSON, of which one before a colon is a key; the last one may be cut off."""


def examine_schema(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield the verdicts on the calls, and oddities that verdicts leave out."""
    calls = answer.made
    if not calls:
        return
    unknown = False
    for number, (call, verdict) in enumerate(zip(calls, _verdicts(answer, calls), strict=False), 1):
        unknown |= "unknown_tool" in (verdict.get("reasons") or ())
        for reason in verdict.get("reasons") or ():
            if reason in CALL_REASONS:
                said = verdict.get("detail") or CALL_REASONS[reason]
                yield finding(reason, f"call {number}, of {verdict.get('name')}: {CALL_REASONS[reason]} ({said})", call)
    for call in calls:
        function = function_of(call)
        if unknown:
            yield from _name(answer, function)
        yield from _arguments(function)


def _verdicts(answer: AnsweredRow, calls: list[Any]) -> list[Mapping[str, Any]]:
    verdicts = answer.row.get("calls")
    if isinstance(verdicts, list):
        return [verdict for verdict in verdicts if isinstance(verdict, dict)]
    return [verdict.as_json() for verdict in call_verdicts(calls, answer.tools)]


def _name(answer: AnsweredRow, function: Mapping[str, Any]) -> Iterator[Finding]:
    name = function.get("name")
    if not isinstance(name, str):
        return
    near = [other for other in answer.tool_names if _bare(other) == _bare(name)]
    if near and name not in answer.tool_names:
        yield finding("name_nearly_offered", f"{name} was called, and {near[0]} was offered", function)


def _bare(name: str) -> str:
    return re.split(r"[.:/]", name.strip())[-1].casefold() if name.strip() else ""


def _arguments(function: Mapping[str, Any]) -> Iterator[Finding]:
    text = function.get("arguments")
    if not isinstance(text, str) or not text:
        return
    if text.lstrip()[:1] != "{":
        yield from _no_object(function, text)
        return
    keys = [name for name, colon in TEXT.findall(text) if colon] if text.count(":") > 1 else ()
    if len(set(keys)) < len(keys) and (key := _repeated_key(text)):
        yield finding("duplicate_keys", f"an object in the arguments has the key {key!r} twice", function)


def _no_object(function: Mapping[str, Any], text: str) -> Iterator[Finding]:
    try:
        found = json.loads(text)
        if isinstance(found, dict):
            return
        yield finding("arguments_not_object", f"the arguments are a {type(found).__name__}, not an object", function)
        if isinstance(found, str) and isinstance(json.loads(found), dict):
            yield finding("arguments_encoded_twice", "the arguments are JSON within a string", function)
    except (ValueError, RecursionError):
        return


def _repeated_key(text: str) -> str | None:
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            counts = Counter(name for name, _ in found)
            repeated.append(next(name for name, count in counts.items() if count > 1))
        return made

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    return repeated[0] if repeated else None
