"""Requests to the virtual API as they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed_server.virtual.endpoint import MalformedRequest, parse_request

GOOD = {
    "category": "Data",
    "tool_name": "T",
    "api_name": "A",
    "tool_input": {"x": 1},
    "strip": "",
    "toolbench_key": "EMPTY",
}


def locations(body: bytes) -> list[list[Any]]:
    with pytest.raises(MalformedRequest) as caught:
        parse_request(body)
    return [problem["loc"] for problem in caught.value.detail]


@for_each("field", list(GOOD))
def test_every_field_is_needed(field: str) -> None:
    body = json.dumps({key: value for key, value in GOOD.items() if key != field}).encode()
    assert locations(body) == [["body", field]]


@for_each("tool_input", [5, None, [1], True])
def test_the_input_is_a_text_or_an_object(tool_input: Any) -> None:
    assert all(
        place[:2] == ["body", "tool_input"]
        for place in locations(json.dumps({**GOOD, "tool_input": tool_input}).encode())
    )


@for_each("body", [b"[]", b'"text"', b"null"])
def test_what_is_not_an_object_is_malformed(body: bytes) -> None:
    assert locations(body) == [["body"]]


def test_a_name_with_half_a_character_is_malformed_and_a_whole_escaped_one_is_not() -> None:
    assert locations(json.dumps({**GOOD, "tool_name": "\ud800"}).encode()) == [["body", "tool_name"]]
    assert parse_request(json.dumps({**GOOD, "tool_name": "👋"}).encode()).tool_name == "👋"


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.integers(2**62, 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    st.booleans(),
)
def test_the_input_is_read_exactly(value: Any, ascii_only: bool) -> None:
    body = json.dumps({**GOOD, "tool_input": {"x": value}}, ensure_ascii=ascii_only)
    assert repr(parse_request(body.encode()).tool_input) == repr(json.loads(body)["tool_input"])
