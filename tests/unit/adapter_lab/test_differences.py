from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed_adapter_lab.differences import differences, tell_texts_apart

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


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


@given(VALUES, VALUES)
def test_there_is_no_difference_exactly_if_the_text_is_the_same(one: Any, other: Any) -> None:
    assert (not differences(one, other)) == (json.dumps(one) == json.dumps(other))


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
