from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_plugins.datasets.bfcl import problem_of


def function(**properties: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": {"type": "dict", "properties": properties, "required": []}}


def is_right(kind: dict[str, Any], allowed: list[Any], value: Any) -> bool:
    return not problem_of("simple_python", [function(p=kind)], [{"f": {"p": allowed}}], [("f", {"p": value})])


@for_each(
    ("kind", "allowed", "value", "right"),
    [
        ("integer", [3], 3, True),
        ("integer", [3], 3.0, False),
        ("integer", [3], "3", False),
        ("integer", [1], True, False),
        ("float", [3.0], 3, True),
        ("float", [3.5], 3.5, True),
        ("string", ["New York, NY"], "new york NY", True),
        ("string", ["it's"], 'it"s', True),
        ("string", ["a", ""], "b", False),
        ("boolean", [True], True, True),
        ("boolean", [True], 1, False),
        ("integer", ["n"], "n", True),
        ("integer", ["n"], "N", False),
        ("any", ["x"], "X", True),
        ("dict", [{"a": [1, 2], "b": ["x", ""]}], {"a": 2}, True),
        ("dict", [{"a": [1, 2], "b": ["x", ""]}], {"a": 2, "b": "X"}, True),
        ("dict", [{"a": [1, 2]}], {"a": 3}, False),
        ("dict", [{"a": [1, 2]}], {"a": 1, "c": 1}, False),
        ("dict", [{"a": [1]}], {}, False),
    ],
)
def test_values_are_compared_as_the_leaderboard_does(kind: str, allowed: list[Any], value: Any, right: bool) -> None:
    assert is_right({"type": kind}, allowed, value) is right


@for_each(
    ("inner", "allowed", "value", "right"),
    [
        ("integer", [[1, 2]], [1, 2], True),
        ("integer", [[1, 2]], [2, 1], False),
        ("integer", [[1, 2]], ["1", 2], False),
        ("string", [["a b", "C"], ""], ["AB", "c"], True),
        ("integer", [[1]], 1, False),
        ("dict", [[{"a": [1]}, {"a": [2]}]], [{"a": 1}, {"a": 2}], True),
        ("dict", [[{"a": [1]}, {"a": [2]}]], [{"a": 2}, {"a": 1}], False),
        ("dict", [[{"a": [1]}]], [], False),
    ],
)
def test_lists_are_compared_item_by_item(inner: str, allowed: list[Any], value: Any, right: bool) -> None:
    for kind in ("array", "tuple"):
        assert is_right({"type": kind, "items": {"type": inner}}, allowed, value) is right


def described(name: str, *required: str) -> dict[str, Any]:
    properties = {"p": {"type": "integer"}, "q": {"type": "integer"}}
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": list(required)}}


TWICE = [{"f": {"p": [1]}}, {"f": {"p": [2]}}]
FUNCTIONS = [described("f", "p"), described("g")]


@for_each(
    ("category", "answers", "calls", "problem"),
    [
        ("simple_python", [{"f": {"p": [1]}}], [], "0 calls instead of 1"),
        ("simple_python", [{"f": {"p": [1]}}], [("g", {"p": 1})], "g is called instead of f"),
        ("simple_python", [{"f": {"p": [1, ""]}}], [("f", {})], "p is missing"),
        ("simple_python", [{"f": {"p": [1], "q": [2]}}], [("f", {"p": 1})], "q is missing"),
        ("simple_python", [{"f": {"p": [1], "q": [2, ""]}}], [("f", {"p": 1})], ""),
        ("simple_python", [{"f": {"p": [1]}}], [("f", {"p": 1, "q": 2})], "q is not expected"),
        ("simple_python", [{"f": {"p": [1]}}], [("f", {"p": 2})], "p: 2 is not one of [1]"),
        ("simple_python", [{"f": {"p": [1]}}], [("f", None)], "cannot be compared"),
        ("multiple", [{"g": {"q": [1]}}], [("g", {"q": 1})], ""),
        ("parallel", [{"f": {"p": [1]}}, {"f": {"p": [2]}}], [("f", {"p": 2}), ("f", {"p": 1})], ""),
        (
            "parallel",
            [{"f": {"p": [1]}}, {"f": {"p": [2]}}],
            [("f", {"p": 1}), ("f", {"p": 1})],
            "no call is right for f",
        ),
        ("live_parallel_multiple", [{"f": {"p": [1]}}, {"g": {}}], [("g", {}), ("f", {"p": 1})], ""),
        ("irrelevance", [], [], ""),
        ("live_irrelevance", [], [("f", {"p": 1})], "no function is needed"),
        ("live_relevance", [], [], "no function was called"),
        ("live_relevance", [], [("g", {})], ""),
    ],
)
def test_calls_are_right_or_there_is_a_reason(category: str, answers: Any, calls: Any, problem: str) -> None:
    found = problem_of(category, FUNCTIONS, answers, calls)
    assert problem in found
    assert bool(found) is bool(problem)
