from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.examples import examples

from trialbed import hard_schemas
from trialbed_adapter_lab.differences import differences, tell_texts_apart

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4)
SCHEMAS = st.sampled_from([schema.parameters for schema in hard_schemas()])


def found(given: Any, sent: Any) -> list[tuple[str, str]]:
    return [(one.kind, one.pointer) for one in differences(given, sent)]


@for_each(
    ("given", "sent", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, [("lost", "/b")]),
        ({"a": 1}, {"a": 1, "b": 2}, [("added", "/b")]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("changed", "/a/b")]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [("reordered", "")]),
        ({"a": 1}, {"b": 1}, [("lost", "/a"), ("added", "/b")]),
        ([1, 2, 3], [3, 2, 1], [("reordered", "")]),
        ([1, 2, 3], [1, 3], [("lost", "/1")]),
        ([1, 3], [1, 2, 3], [("added", "/1")]),
        ([1, 2], [1, 4], [("changed", "/1")]),
        (["b", "c"], ["a", "b", "c"], [("added", "/0")]),
        ([{"a": 1, "b": 2}, 7], [{"b": 2, "a": 1}, 7], [("reordered", "/0")]),
        ({"a/b": {"~": 1}}, {"a/b": {}}, [("lost", "/a~1b/~0")]),
        ({"": 1}, {}, [("lost", "/")]),
        (1, 1.0, [("changed", "")]),
        (True, 1, [("changed", "")]),
        (None, False, [("changed", "")]),
        ({"a": []}, {"a": {}}, [("changed", "/a")]),
    ],
)
def test_each_difference_has_its_kind_and_place(given: Any, sent: Any, expected: list[tuple[str, str]]) -> None:
    assert found(given, sent) == expected


def test_values_are_told() -> None:
    lost, added, changed = differences({"x": 1, "y": [1], "z": 0}, {"y": [1, 2], "z": "0"})
    assert (lost.given, lost.sent) == (1, None)
    assert (added.given, added.sent) == (None, 2)
    assert (changed.given, changed.sent) == (0, "0")


@given(VALUES | SCHEMAS)
@settings(max_examples=examples(0.5))
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert differences(value, copy.deepcopy(value)) == ()
    assert differences(value, json.loads(json.dumps(value))) == ()


@given(VALUES, VALUES)
def test_there_is_no_difference_exactly_if_the_text_is_the_same(one: Any, other: Any) -> None:
    assert (not differences(one, other)) == (json.dumps(one) == json.dumps(other))


@given(OBJECTS | SCHEMAS, st.data())
def test_every_mutation_is_found_where_it_is(value: dict[str, Any], data: st.DataObject) -> None:
    mutant = copy.deepcopy(value)
    place, container = data.draw(st.sampled_from(list(containers(mutant, ""))))
    kind, pointer = mutate(container, place, data)
    assert found(value, mutant) == [(kind, pointer)]


def containers(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Every object and list in a value, with its pointer."""
    if isinstance(value, dict):
        yield pointer, value
        for key, item in value.items():
            yield from containers(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        yield pointer, value
        for index, item in enumerate(value):
            yield from containers(item, f"{pointer}/{index}")


def mutate(container: Any, pointer: str, data: st.DataObject) -> tuple[str, str]:
    """Change one thing in an object or a list; what should be found."""
    if isinstance(container, list):
        container.append("a text that no other item is")
        return "added", f"{pointer}/{len(container) - 1}"
    before = list(container)
    ways = ["add"] if not container else ["add", "lose", "change"] + ["reorder"] * (len(container) > 1)
    way = data.draw(st.sampled_from(ways))
    if way == "add":
        container["a key that no object has"] = 1
        return "added", f"{pointer}/a key that no object has"
    key = data.draw(st.sampled_from(list(container)))
    at = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
    if way == "reorder":
        value = container.pop(key)
        first = {key: value} if key != before[0] else {}
        rest = dict(container)
        container.clear()
        container.update({**first, **rest, key: value})
        return "reordered", pointer
    if way == "lose":
        del container[key]
        return "lost", at
    container[key] = {"another": "value"} if not isinstance(container[key], dict) else "another value"
    return "changed", at


def test_texts_are_told_apart_at_their_first_different_character():
    for expected, seen, told in (
        (
            "cafe\u0301",
            "caf\u00e9",
            r'from character 3 on, "café" in place of "cafe\N{U+0301}" (4 characters in place of 5)',
        ),
        (
            "one\r\ntwo",
            "one\ntwo",
            r'from character 3 on, "one\ntwo" in place of "one\r\ntwo" (7 characters in place of 8)',
        ),
        ("done", "", 'from character 0 on, nothing in place of "done" (0 characters in place of 4)'),
    ):
        assert tell_texts_apart(expected, seen) == told
    long = "x" * 10_000
    assert len(tell_texts_apart(long + "a", long + "b")) < 200
