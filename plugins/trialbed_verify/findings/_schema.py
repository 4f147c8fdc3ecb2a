"""Examines the arguments of an answer's calls against the schemas of its tools."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from trialbed_verify.call_schemas import call_verdicts
from trialbed_verify.findings._answers import AnsweredRow, function_of, objects_of
from trialbed_verify.findings._kinds import CALL_REASONS, Check


def examine_schema(answer: AnsweredRow) -> Iterator[Check]:
    """Yield the verdicts on the calls, and checks of what verdicts leave out."""
    calls, verdicts, offered = answer.made, answer.row.get("calls"), answer.tool_schemas
    if not isinstance(verdicts, list):
        verdicts = [verdict.as_json() for verdict in call_verdicts(calls, answer.tools)]
    for number, (call, verdict) in enumerate(zip(calls, objects_of(verdicts), strict=False), 1):
        for reason in verdict.get("reasons") or ():
            meaning = CALL_REASONS.get(reason, "")
            said = f"call {number}, of {verdict.get('name')}: {meaning} ({verdict.get('detail') or meaning})"
            yield meaning, reason, said, call
    for function in map(function_of, calls):
        name, text = function.get("name"), function.get("arguments")
        near = [other for other in offered if _bare(other) == _bare(name)] if name not in offered else []
        yield near, "name_nearly_offered", (name, *near[:1]), function
        if isinstance(text, str) and text:
            yield from _arguments(function, text)


def _bare(name: Any) -> str:
    """Return a name without prefix, case and spaces; a line end if it is not a name."""
    return re.split(r"[.:/]", name.strip())[-1].casefold() if isinstance(name, str) else "\n"


def _arguments(function: Mapping[str, Any], text: str) -> Iterator[Check]:
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.extend(name for name, count in Counter(name for name, _ in found).items() if count > 1)
        return dict(found)

    with suppress(ValueError, RecursionError):
        value = json.loads(text, object_pairs_hook=pairs)
        is_object = isinstance(value, dict)
        yield not is_object, "arguments_not_object", type(value).__name__, function
        yield is_object and repeated, "duplicate_keys", repr(repeated[:1])[1:-1], function
        is_twice = isinstance(value, str) and isinstance(json.loads(value), dict)
        yield is_twice, "arguments_encoded_twice", "", function
