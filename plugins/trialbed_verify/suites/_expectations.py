"""Compares the expectations of a case with its answer; all functions are pure functions of one result row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from trialbed.suggestions import closest, did_you_mean
from trialbed.tool_calls import same_value
from trialbed.wire import lenient_json
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings import AnsweredRow, alternatives_of, findings, function_of, list_of, object_of, text_of
from trialbed_verify.rows import object_in

Row = Mapping[str, Any]
MISSING = object()

SHOWN = 40
"""Characters of a wrong value that are shown."""

LEAKS = frozenset(("leaked_tokens", "leaked_tool_call", "leaked_thinking", "replacement_characters"))
"""Kinds of findings: marks of templates, tools and thoughts, and of bytes that were no text."""

REFUSED = ("http_400", "http_413", "http_422", "http_501")
"""Problems of endpoints that reject the request itself; other failures do not decide a case."""

FELL = "http_500"
"""The problem of an endpoint that a wrong request fells, after all attempts."""


Check = Callable[[Any, AnsweredRow], bool | None]
"""The expected value, and the answer -> True if the answer has it; None if it does not apply."""


def _answered(_: Any, answer: AnsweredRow) -> bool:
    """The answer has a call or a text."""
    return bool(_calls_of(answer) or answer.content.strip() or _was_cut(answer))


def _calls(expected: bool, answer: AnsweredRow) -> bool | None:
    """There is a call, or there is none."""
    has_calls = bool(_calls_of(answer))
    return None if expected and not has_calls and _was_cut(answer) else has_calls is expected


def _tool(expected: list[str], answer: AnsweredRow) -> bool | None:
    """The tools that may be called."""
    calls = _calls_of(answer)
    return all(name in expected for name, _ in calls) if calls else None


def _most_calls(expected: int, answer: AnsweredRow) -> bool:
    """The greatest number of calls."""
    return len(_calls_of(answer)) <= expected


def _arguments(expected: Mapping[str, Any], answer: AnsweredRow) -> bool | None:
    """The arguments of a call, types included."""
    calls = _calls_of(answer)
    return any(same_value(given, expected) for _, given in calls) if calls and not _was_cut(answer) else None


def _json(expected: Any, answer: AnsweredRow) -> bool | None:
    """The text is a JSON object; a schema that it matches, or true."""
    if _calls_of(answer) or _was_cut(answer):
        return None
    value = lenient_json(answer.content)
    if expected is True or not isinstance(value, dict):
        return isinstance(value, dict)
    schema = usable_schema(expected)
    # An unusable schema is the test set's fault.
    return None if isinstance(schema, str) else schema.is_valid(value)


def _most_tokens(expected: int, answer: AnsweredRow) -> bool | None:
    """The greatest number of completion tokens, as reported."""
    tokens, limit = answer.row.get("completion_tokens"), _sent_value(answer, "max_tokens", expected)
    return None if tokens is None or not isinstance(limit, int) else tokens <= limit


def _clean(_: Any, answer: AnsweredRow) -> bool:
    """There are no marks of templates, tools or thoughts in what was generated."""
    return not any(one.kind in LEAKS for one in findings(answer.row))


def _without(expected: list[str], answer: AnsweredRow) -> bool:
    """The texts, such as those of `stop`, that are not in the text."""
    return not any(text in answer.content for text in expected)


def _refusal(expected: bool | Mapping[str, Any], answer: AnsweredRow) -> bool | None:
    """True, or the wrong parameters as they must have been sent: the request is refused (HTTP 400 and the like)."""
    wrong = expected.items() if isinstance(expected, Mapping) else ()
    return None if any(not same_value(_sent_value(answer, *one), one[1]) for one in wrong) else not expected


def _choices(expected: int, answer: AnsweredRow) -> bool:
    """The number of choices."""
    indices = [choice.get("index") for choice in answer.choices]
    return len(indices) == expected and all(indices.count(index) == 1 for index in indices)


def _logprobs(expected: int, answer: AnsweredRow) -> bool:
    """The first choice has log probabilities with at most this many alternatives."""
    tokens = list_of(object_of(answer.choice.get("logprobs")).get("content"))
    return bool(tokens) and all(0 < len(alternatives_of(token)) <= expected for token in tokens)


def _calls_of(answer: AnsweredRow) -> list[tuple[str, Any]]:
    """Return names and parsed arguments of the calls; invalid JSON becomes ``MISSING``."""
    functions = map(function_of, list_of(answer.calls))
    return [(str(one.get("name")), lenient_json(text_of(one.get("arguments")), MISSING)) for one in functions]


def _was_cut(answer: AnsweredRow) -> bool:
    return answer.reason == "length"


def _sent_value(answer: AnsweredRow, name: str, expected: Any) -> Any:
    """Return the sent value of a parameter, which options and drivers may have changed; ``expected`` if unknown."""
    return answer.request.get(name) if isinstance(answer.row.get("request"), dict) else expected


_CHECKS = (_answered, _calls, _tool, _most_calls, _arguments, _json, _most_tokens, _clean, _without)
EXPECTATIONS: Mapping[str, Check] = {check.__name__[1:]: check for check in (*_CHECKS, _refusal, _choices, _logprobs)}
"""Keys of ``expect`` -> their checks, whose docstrings say what the values mean."""


def suite_fault(about: Any) -> str | None:
    """Return the reason why a line's ``suite`` cannot be scored; None if it can be."""
    if not isinstance(about, Mapping):
        return "suite: not an object"
    if ("name" in about or "expect" in about) and not isinstance(about.get("name"), str):
        return f"suite: the name is {json.dumps(about.get('name'))[:SHOWN]}, not a text"
    expected = about.get("expect", {})
    if not isinstance(expected, Mapping):
        return "suite: expect is not an object with expectations"
    unknown = next((name for name in expected if name not in EXPECTATIONS), None)
    if unknown is None:
        return None
    close = did_you_mean(closest(unknown, EXPECTATIONS))
    return f"suite: unknown expectation {unknown[:SHOWN]!r}{close} The expectations are {', '.join(EXPECTATIONS)}"


def score(row: Row) -> float | None:
    """Return 1 if an answer meets the expectations of its case, else 0; None if the row does not decide it.

    Refused requests (HTTP 400 and the like) and answers that break the protocol count as wrong. Unavailable endpoints
    (other statuses, timeouts, broken connections) return None.
    """
    found = misses(row)
    return None if found is None else float(not found)


def misses(row: Row) -> list[str] | None:
    """Return the expectations that an answer misses, or ``refused`` or ``protocol``; None as for ``score``."""
    expected, kind = object_in(object_in(row, "suite"), "expect"), object_in(row, "problem").get("kind")
    if not expected:
        return None
    if row.get("status") == "success":
        answer = AnsweredRow(row)
        met = {name: EXPECTATIONS[name](value, answer) for name, value in expected.items() if name in EXPECTATIONS}
        return [name for name in met if met[name] is False] if {*met.values()} - {None} else None
    if kind in REFUSED:
        return [] if expected.get("refusal") else ["refused"]
    if kind == FELL and expected.get("refusal"):
        return ["refusal"]
    return ["protocol"] if row.get("outcome") == "protocol_error" else None
