"""JSON, and events of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.wire import Event, EventReader, dump_json, finite_float, parse_json, parse_json_fast

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


@for_each("read", [parse_json, parse_json_fast])
@for_each("text", [b"NaN", b'{"a": Infinity}', b"[-Infinity]", b"{oops", b"", b"\xff"])
def test_what_is_not_json_is_refused(read: Any, text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(text)


@pytest.mark.parametrize("read", [parse_json, parse_json_fast])
def test_nesting_is_bounded_so_that_all_that_is_read_can_be_written(read: Any) -> None:
    assert dump_json({"row": {"response": read(nested(200))}})
    for levels in (210, 900, 100_000):
        with pytest.raises(ValueError, match="nested deeper than 200 levels"):
            read(nested(levels))


def test_a_key_that_is_there_twice_and_a_number_beyond_floats_are_refused_where_it_is_asked_for() -> None:
    assert parse_json('{"a": 1, "a": 1e999}') == {"a": float("inf")}
    with pytest.raises(ValueError, match="the key 'a' occurs twice"):
        parse_json('{"a": 1, "a": 2}', unique=True)
    with pytest.raises(ValueError, match="the number 1e999 is too large"):
        parse_json("[1e999]", finite_float)


def read(body: bytes, cuts: list[int] = []) -> list[Event]:  # noqa: B006 - never changed
    reader, events, start = EventReader(), [], 0
    for cut in [*sorted(cuts), len(body)]:
        events += reader.feed(body[start:cut])
        start = cut
    return events + reader.end()


@for_each(
    ("body", "events"),
    [
        (b"data: a\n\n", [("", b"a")]),
        (b"data:a\n\n", [("", b"a")]),
        (b"data:  a\n\n", [("", b" a")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", b"a"), ("", b"b")]),
        (b"data: a\rdata: b\r\r", [("", b"a\nb")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b": a comment\n\ndata: a\n\n", [("", b"a")]),
        (b"event: error\ndata: {}\n\n", [("error", b"{}")]),
        (b"id: 1\nretry: 5\ndata: a\n\n", [("", b"a")]),
        (b"event: lonely\n\ndata: a\n\n", [("", b"a")]),
        (b"data: a", [("", b"a")]),
        (b"data: a\n", [("", b"a")]),
        (b"data\n\n", [("", b"")]),
        (b"", []),
        (b"\n\n\n", []),
        (b"<html>\n", []),
    ],
)
def test_events_are_read_as_the_standard_says(body: bytes, events: list[tuple[str, bytes]]) -> None:
    assert [tuple(event) for event in read(body)] == events


LINES = st.sampled_from([b"data: a", b"data: {}", b"event: x", b": c", b"", b"data:", b"id: 3"])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS)), st.data())
def test_where_the_network_cuts_does_not_matter(lines: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    body = b"".join(line + end for line, end in lines)
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=8))
    assert read(body, cuts) == read(body)


@for_each("cut", range(6))
def test_a_byte_order_mark_is_no_part_of_the_first_line(cut: int) -> None:
    body = b"\xef\xbb\xbfdata: a\n\n"
    reader = EventReader()
    assert [event.data for event in (*reader.feed(body[:cut]), *reader.feed(body[cut:]))] == [b"a"]
    assert reader.marked


def test_what_is_no_part_of_an_event_is_kept_apart() -> None:
    reader = EventReader()
    reader.feed(b"data: a\n\noops\ndata: b\n\n: fine\nid: 1\nalso: this\ndata: c")
    assert reader.strays == [(1, b"oops"), (2, b"also: this")]
    assert [event.data for event in reader.end()] == [b"c"]
