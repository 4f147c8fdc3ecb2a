from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.alignment import compare_arguments

NUMBER, TEXT = {"type": "number"}, {"type": "string"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=3), json_values, max_size=4)


def share(gold: Any, given: Any, **schema: Any) -> float:
    return compare_arguments({"x": gold}, {"x": given}, {"properties": {"x": schema}}).share


@pytest.mark.parametrize(
    ("gold", "given", "schema", "same"),
    [
        (3, 3.0, NUMBER, True),
        (3, "3", NUMBER, True),
        (3, "3.00", NUMBER, True),
        (3, 4, NUMBER, False),
        (3, "three", NUMBER, False),
        (0.1 + 0.2, 0.3, NUMBER, True),
        (10**400, 10**400, NUMBER, True),
        (10**400, 1, NUMBER, False),
        ("Pelluin", " pelluin ", TEXT, True),
        ("Pelluin", "Skellmoor", TEXT, False),
        ("5", 5, TEXT, True),
        ("05", "5", TEXT, False),
        ("05", "5", {}, False),
        (True, "true", {"type": "boolean"}, True),
        (True, 1, {"type": "boolean"}, False),
        ([1, 2], [1.0, "2"], {"type": "array", "items": NUMBER}, True),
        ([1, 2], [2, 1], {"type": "array"}, False),
        ([1, 2], [1], {}, False),
        ({"a": 1}, {"a": 1.0}, {}, True),
        ({"a": 1}, [1], {}, False),
        ("[1]", [1], TEXT, False),
        (7, 7, {"type": ["integer", "null"]}, True),
        ("ÅNGSTRÖM", "ångström", TEXT, True),
    ],
)
def test_values_are_compared_by_the_type_of_their_schema(gold: Any, given: Any, schema: Any, same: bool) -> None:
    assert share(gold, given, **schema) == (1.0 if same else 0.0)


def test_what_differs_is_named() -> None:
    found = compare_arguments({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4}, {})
    assert (found.right, found.wrong, found.missing, found.extra) == (("a",), ("b",), ("c",), ("d",))
    assert found.share == 0.25
    assert found.difference == "wrong: b; missing: c; not in the gold call: d"


@pytest.mark.parametrize("said", [None, "", 10])
def test_arguments_that_say_nothing_are_as_good_as_none(said: Any) -> None:
    schema = {"properties": {"limit": {"type": "integer", "default": 10}}}
    assert compare_arguments({}, {"limit": said}, schema).exact
    assert compare_arguments({"limit": said}, {}, schema).exact


def test_another_value_than_the_default_says_something() -> None:
    schema = {"properties": {"limit": {"type": "integer", "default": 10}}}
    assert compare_arguments({}, {"limit": 5}, schema).share == 0.0


@pytest.mark.parametrize(("given", "readable"), [("{}", True), ("", True), ("{", False), ("[1]", False), (None, False)])
def test_text_is_read_as_json(given: Any, readable: bool) -> None:
    found = compare_arguments({}, given, {})
    assert (found.readable, found.exact) == (readable, readable)
    assert bool(found.difference) is not readable


@pytest.mark.parametrize("schema", [{"properties": None}, {"properties": {"x": True}}, {"properties": {"x": []}}])
def test_a_schema_that_tells_no_type_leaves_it_to_the_gold_value(schema: Any) -> None:
    assert compare_arguments({"x": 1}, {"x": 1.0}, schema).exact


@given(objects)
def test_arguments_agree_with_themselves(arguments: dict[str, Any]) -> None:
    assert compare_arguments(arguments, arguments, {}).exact


@given(objects, objects)
def test_the_share_is_one(gold: dict[str, Any], given: dict[str, Any]) -> None:
    found = compare_arguments(gold, given, {})
    assert 0.0 <= found.share <= 1.0
    assert found.exact is (found.difference == "")
