"""The leaderboard's rules for right calls.

They match its own checker (``bfcl-eval`` 2026.3.23), oddities included. Texts are compared without case, spaces and the
punctuation ``,./-_*^``. An empty text among a parameter's values means that it may be omitted. A value with the same
type as a right value is compared with it even if the description has another type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed_plugins.datasets.bfcl._languages import LANGUAGES, Language

Call = tuple[str, Mapping[str, Any]]
"""A function's name, and the arguments."""

TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
NESTED = ("array", "tuple")
IGNORED = re.compile(r"[ ,./\-_*^]")


def problem_of(
    category: str, functions: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], calls: Sequence[Call]
) -> str:
    """Explain why calls are wrong; empty if they are right.

    Args:
        category: the test set, such as ``live_parallel_multiple``.
        functions: the offered functions in the leaderboard's format.
        answers: the function's name and the possible values of each parameter, for each call.
        calls: the model's calls, in order.
    """
    if "irrelevance" in category:
        return "no function is needed, but one was called" if calls else ""
    if "relevance" in category:
        return "" if calls else "no function was called"
    if len(calls) != len(answers):
        return f"{len(calls)} calls instead of {len(answers)}"
    described = {function["name"]: function for function in functions}
    try:
        if "parallel" in category:
            return _in_any_order(described, answers, calls)
        return _call(described[next(iter(answers[0]))], answers[0], calls[0], LANGUAGES.get(category))
    except (AttributeError, ImportError, IndexError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        return f"the calls cannot be compared with the answer: {error!r}"


def _in_any_order(
    described: Mapping[str, Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], calls: Sequence[Call]
) -> str:
    """Assign to each answer the first remaining call that fits."""
    left = list(calls)
    for answer in answers:
        function = described[next(iter(answer))]
        problems = [_call(function, answer, call) for call in left]
        if "" not in problems:
            return f"no call is right for {function['name']}: {'; '.join(problems)}"
        del left[problems.index("")]
    return ""


def _call(function: Mapping[str, Any], answer: Mapping[str, Any], call: Call, language: Language | None = None) -> str:
    name, arguments = call
    allowed = next(iter(answer.values()))
    if name != function["name"]:
        return f"{name} is called instead of {function['name']}"
    properties = function["parameters"]["properties"]
    missing = [parameter for parameter in function["parameters"]["required"] if parameter not in arguments]
    if missing:
        return f"{missing[0]} is missing"
    for parameter, value in arguments.items():
        if parameter not in properties or parameter not in allowed:
            return f"{parameter} is not expected"
        if not _is_right(properties[parameter], allowed[parameter], value, language):
            return f"{parameter}: {value!r} is not one of {allowed[parameter]!r}"
    lacking = [parameter for parameter, values in allowed.items() if parameter not in arguments and "" not in values]
    return f"{lacking[0]} is missing" if lacking else ""


def _is_right(described: Mapping[str, Any], allowed: Sequence[Any], value: Any, language: Language | None) -> bool:
    kind = described["type"]
    types, lists = (language.types, language.lists) if language else (TYPES, NESTED)
    expected = types[kind]
    of_items = described["items"]["type"] if kind in lists else None
    inner = types[of_items] if of_items else None
    if language is not None:
        if not isinstance(value, str):
            return False
        value = language.read(value, kind, of_items)
    elif kind == "float" and type(value) is int:
        value = float(value)
    typed, otherwise = _check_type(value, allowed, expected, inner)
    if not typed:
        return False
    if otherwise:
        return value in allowed
    if expected is dict:
        return any(_fits(value, answer) for answer in allowed if answer != "")
    if expected is list and inner is dict:
        return any(_are_dicts(value, answer) for answer in allowed)
    if expected is str:
        return _plain(value) in [_plain(answer) for answer in allowed if isinstance(answer, str)]
    if expected is list:
        return [_plain(item) for item in value] in [[_plain(item) for item in answer] for answer in allowed]
    return value in allowed


def _check_type(value: Any, allowed: Sequence[Any], expected: type, inner: type | None) -> tuple[bool, bool]:
    """Return whether the type of a value is right, and whether it differs from the described type."""
    answered = next((type(answer) for answer in allowed if answer != ""), None)
    otherwise = answered is not None and answered is not expected
    if type(value) is expected and (inner is None or any(_all_typed(value, answer, inner) for answer in allowed)):
        return True, otherwise
    return answered is not None and type(value) is answered, True


def _all_typed(value: Any, answer: Any, inner: type) -> bool:
    return type(answer) is not list or all(_check_type(item, answer, inner, None)[0] for item in value)


def _are_dicts(value: Sequence[Any], answer: Any) -> bool:
    return len(value) == len(answer) and all(
        answered != "" and _fits(item, answered) for item, answered in zip(value, answer, strict=True)
    )


def _fits(value: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    given = all(key in answer and _plain(item) in [_plain(one) for one in answer[key]] for key, item in value.items())
    return given and all(key in value or "" in values for key, values in answer.items())


def _plain(value: Any) -> Any:
    return IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
