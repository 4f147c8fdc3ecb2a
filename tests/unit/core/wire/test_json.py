from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.wire import dump_json, finite_float, parse_json, parse_json_fast
from trialbed.wire._json import DEEPEST

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@given(JSON)
def test_what_is_written_is_read_back_exactly(value: Any) -> None:
    assert parse_json(dump_json(value)) == value


@for_each("value", ["\ud800", {"\udc00": 1}, 2**64, -(2**70), [2**1000]])
def test_what_a_fast_writer_refuses_is_written_all_the_same(value: Any) -> None:
    assert parse_json(dump_json(value)) == value


@for_each("read", [parse_json, parse_json_fast])
@for_each("text", [b"NaN", b'{"a": Infinity}', b"[-Infinity]", b"{oops", b"", b"\xff"])
def test_what_is_not_json_is_refused(read: Any, text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(text)


@pytest.mark.parametrize("read", [parse_json, parse_json_fast])
def test_nesting_is_bounded_so_that_all_that_is_read_can_be_written(read: Any) -> None:
    assert dump_json({"row": {"response": read(nested(DEEPEST))}})
    for levels in (DEEPEST + 10, 900, 100_000):
        with pytest.raises(ValueError, match="nested deeper than 200 levels"):
            read(nested(levels))


def test_many_brackets_are_no_depth() -> None:
    wide = json.dumps([{"a": [1]}] * 500).encode()
    assert len(parse_json(wide)) == len(parse_json_fast(wide)) == 500


def test_half_of_a_character_in_an_event_is_json() -> None:
    assert parse_json_fast(b'{"a": "\\ud83d"}') == {"a": "\ud83d"}


def test_a_key_that_is_there_twice_and_a_number_beyond_floats_are_refused_where_it_is_asked_for() -> None:
    assert parse_json('{"a": 1, "a": 1e999}') == {"a": float("inf")}
    with pytest.raises(ValueError, match="the key 'a' occurs twice"):
        parse_json('{"a": 1, "a": 2}', unique=True)
    with pytest.raises(ValueError, match="the number 1e999 is too large"):
        parse_json("[1e999]", finite_float)
