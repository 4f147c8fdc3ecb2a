"""Compares the expectations of a case with its answer; all functions are pure functions of one result row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from trialbed.suggestions import closest, did_you_mean
from trialbed.tool_calls import same_value
from trialbed.wire import lenient_json
from trialbed.wire.dialects.chat_completions import first_choice, first_message
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings import findings
from trialbed_verify.rows import sent_request

Row = Mapping[str, Any]
MISSING = object()

SHOWN = 40
"""Characters of a wrong value that are shown."""

LEAKS = frozenset(("leaked_tokens", "leaked_tool_call", "leaked_thinking", "replacement_characters"))
"""Kinds of findings: marks of templates, tools and thoughts, and of bytes that were no text."""

REFUSED = frozenset(("http_400", "http_413", "http_422", "http_501"))
"""Problems of an endpoint that refuses a request as such; other failures say nothing about a case."""

FELL = "http_500"
"""The problem of an endpoint that a wrong request fells, after all attempts."""


@dataclass(frozen=True)
class SuiteAnswer:
    """An answer as expectations see it."""

    row: Row

    @cached_property
    def response(self) -> dict[str, Any]:
        """Return the completion; empty if there is none."""
        found = self.row.get("response")
        return found if isinstance(found, dict) and self.row.get("status") == "success" else {}

    @cached_property
    def calls(self) -> list[tuple[str, Any]]:
        """Return names and parsed arguments of the calls; arguments that are not JSON are ``MISSING``."""
        listed = first_message(self.response).get("tool_calls")
        return [_call(call) for call in listed] if isinstance(listed, list) else []

    @cached_property
    def text(self) -> str:
        """Return the text of the answer."""
        content = first_message(self.response).get("content")
        return content if isinstance(content, str) else ""

    def sent_value(self, name: str, expected: Any) -> Any:
        """Return a parameter as it was sent, which options and drivers may have changed; as expected if unknown."""
        request = self.row.get("request")
        return sent_request(self.row).get(name) if isinstance(request, dict) else expected

    @property
    def was_cut(self) -> bool:
        """Return whether it ended because of a limit."""
        return self.row.get("finish_reason") == "length"


Check = Callable[[Any, SuiteAnswer], bool | None]
"""The expected value, and the answer -> True if the answer has it; None if it does not apply."""


def _has_answer(_: Any, answer: SuiteAnswer) -> bool:
    return bool(answer.calls or answer.text.strip() or answer.was_cut)


def _calls(expected: bool, answer: SuiteAnswer) -> bool | None:
    return None if expected and not answer.calls and answer.was_cut else bool(answer.calls) is expected


def _tool(expected: list[str], answer: SuiteAnswer) -> bool | None:
    return all(name in expected for name, _ in answer.calls) if answer.calls else None


def _most_calls(expected: int, answer: SuiteAnswer) -> bool:
    return len(answer.calls) <= expected


def _arguments(expected: Mapping[str, Any], answer: SuiteAnswer) -> bool | None:
    if not answer.calls or answer.was_cut:
        return None
    return any(same_value(arguments, expected) for _, arguments in answer.calls)


def _json(expected: Any, answer: SuiteAnswer) -> bool | None:
    if answer.calls or answer.was_cut:
        return None
    value = lenient_json(answer.text)
    if expected is True or not isinstance(value, dict):
        return isinstance(value, dict)
    schema = usable_schema(expected)
    # One that cannot be used is the test set's fault.
    return None if isinstance(schema, str) else schema.is_valid(value)


def _most_tokens(expected: int, answer: SuiteAnswer) -> bool | None:
    tokens, limit = answer.row.get("completion_tokens"), answer.sent_value("max_tokens", expected)
    return None if tokens is None or not isinstance(limit, int) else tokens <= limit


def _clean(_: Any, answer: SuiteAnswer) -> bool:
    return not any(one.kind in LEAKS for one in findings(answer.row))


def _without(expected: list[str], answer: SuiteAnswer) -> bool:
    return not any(text in answer.text for text in expected)


def _refusal(expected: bool | Mapping[str, Any], answer: SuiteAnswer) -> bool | None:
    if isinstance(expected, Mapping) and any(
        not same_value(answer.sent_value(*one), one[1]) for one in expected.items()
    ):
        return None
    return not expected


def _choices(expected: int, answer: SuiteAnswer) -> bool:
    listed = answer.response.get("choices")
    indices = [choice.get("index") for choice in listed if isinstance(choice, dict)] if isinstance(listed, list) else []
    return len(indices) == expected and all(indices.count(index) == 1 for index in indices)


def _logprobs(expected: int, answer: SuiteAnswer) -> bool:
    found = first_choice(answer.response).get("logprobs")
    content = found.get("content") if isinstance(found, dict) else None
    if not isinstance(content, list) or not content:
        return False
    return all(isinstance(token, dict) and 0 < len(token.get("top_logprobs") or ()) <= expected for token in content)


EXPECTATIONS: Mapping[str, tuple[Check, str]] = {
    "answered": (_has_answer, "the answer has a call or a text"),
    "calls": (_calls, "whether there is a call"),
    "tool": (_tool, "the tools that may be called"),
    "most_calls": (_most_calls, "the greatest number of calls"),
    "arguments": (_arguments, "the arguments of a call, types included"),
    "json": (_json, "the text is a JSON object; a schema that it matches, or true"),
    "most_tokens": (_most_tokens, "the greatest number of completion tokens, as reported"),
    "clean": (_clean, "no marks of templates, tools or thoughts in what was generated"),
    "without": (_without, "texts, such as those of `stop`, that are not in the text"),
    "refusal": (
        _refusal,
        "true, or the parameters that are wrong, as they must have been sent: the request is refused (HTTP 400 and "
        "the like)",
    ),
    "choices": (_choices, "the number of choices"),
    "logprobs": (_logprobs, "the first choice has log probabilities with at most this many alternatives"),
}
"""Keys of ``expect`` -> their checks, and what their values mean."""


def suite_fault(about: Any) -> str | None:
    """Return the reason why the ``suite`` of a line of a test set cannot be scored; None if it can be."""
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

    An endpoint that refuses a request (HTTP 400 and the like), or whose answer breaks the protocol, is wrong. One that
    is unavailable (other statuses, timeouts, broken connections) is neither.
    """
    found = misses(row)
    return None if found is None else float(not found)


def misses(row: Row) -> list[str] | None:
    """Return the expectations that an answer misses, or ``refused`` or ``protocol``; None as for ``score``."""
    about = row.get("suite")
    expected = about.get("expect") if isinstance(about, Mapping) else None
    if not isinstance(expected, Mapping) or not expected:
        return None
    if row.get("status") != "success":
        return _miss_refusal(row) if expected.get("refusal") else _failure(row)
    answer = SuiteAnswer(row)
    found = {name: EXPECTATIONS[name][0](value, answer) for name, value in expected.items() if name in EXPECTATIONS}
    if all(held is None for held in found.values()):
        return None
    return [name for name, held in found.items() if held is False]


def _miss_refusal(row: Row) -> list[str] | None:
    """Return what the failure of a request misses that was to be refused: one that fells the server is not refused."""
    missed = ["refusal"] if _problem(row) == FELL else _failure(row)
    return [] if missed == ["refused"] else missed


def _problem(row: Row) -> Any:
    problem = row.get("problem")
    return problem.get("kind") if isinstance(problem, Mapping) else None


def _failure(row: Row) -> list[str] | None:
    if _problem(row) in REFUSED:
        return ["refused"]
    return ["protocol"] if row.get("outcome") == "protocol_error" else None


def _call(call: Any) -> tuple[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    value = lenient_json(arguments, MISSING) if isinstance(arguments, str) else MISSING
    return str(function.get("name")), value
