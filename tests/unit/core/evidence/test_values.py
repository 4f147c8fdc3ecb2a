"""Evidence: what a response holds an answer to."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.evidence import MAX_TEXT, MIN_TEXT, carries, every_value, evidence_values, short_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@for_each(
    ("response", "values"),
    [
        ({"city": "Ellwang", "people": 48213}, ("Ellwang", "48213")),
        ({"a": {"b": ["Nordtor", "Nordtor", 7, 12.5]}}, ("Nordtor", "12.5")),
        ({"ok": True, "next": None, "id": "x1"}, ()),
        ('{"city": "Ellwang"}', ("Ellwang",)),
        ('["one", "two"]', ("one", "two")),
        ("{not json", ("{not json",)),
        ("  plain   text ", ("plain text",)),
        ("", ()),
        (None, ()),
        (-3.5, ("-3.5",)),
        ("x" * (MAX_TEXT + 1), ()),
        ("x" * MAX_TEXT, ("x" * MAX_TEXT,)),
        ("x" * (MIN_TEXT - 1), ()),
    ],
)
def test_evidence_values(response: Any, values: tuple[str, ...]) -> None:
    assert evidence_values(response) == values


@for_each(
    ("response", "values"),
    [
        ({"title": "Dune", "shelf": "A3", "copies": [2, 2], "lent": False, "note": ""}, ("A3", "2")),
        ('{"id": 7}', ("7",)),
        ("no", ("no",)),
        ("Dune", ()),
        (None, ()),
    ],
)
def test_short_values(response: Any, values: tuple[str, ...]) -> None:
    assert short_values(response) == values


LONG = "The terms of the shop. " * 20 + "Goods can be returned within 31 days."


@for_each(
    ("response", "values"),
    [
        ("43", ("43",)),
        ("7", ("7",)),
        (7, ("7",)),
        (True, ("true",)),
        ("no", ("no",)),
        (LONG, (LONG,)),
        ({"left": 7, "city": "Ellwang", "id": "x1", "ok": True}, ("Ellwang", "7", "x1")),
        ("{'cut': 7, 'o", ("{'cut': 7, 'o",)),
        ("{" + LONG, ()),
        ("null", ()),
        (None, ()),
        ("", ()),
    ],
)
def test_every_value_has_the_short_ones_too(response: Any, values: tuple[str, ...]) -> None:
    assert every_value(response) == values


@for_each(
    ("answer", "value", "found"),
    [
        ("It is 21.5 degrees.", "21.5", True),
        ("It is 121.5 degrees.", "21.5", False),
        ("It is in ELLWANG, surely", "Ellwang", True),
        ("It is in Ellwangen", "Ellwang", False),
        ("the  white\nhouse", "White House", True),
        ("anything", "", False),
        ("costs 4.50 (four)", "4.50", True),
        ("a+b=c", "a+b", True),
    ],
)
def test_carries(answer: str, value: str, found: bool) -> None:
    assert carries(answer, value) is found


@given(JSON)
def test_values_are_distinct_texts_of_bounded_length(response: Any) -> None:
    values = evidence_values(response)
    assert len(values) == len(set(values))
    assert all(isinstance(value, str) and value for value in values)
    assert all(len(value) <= MAX_TEXT or value.lstrip("-")[0].isdigit() for value in values)


@given(st.dictionaries(st.text(min_size=1, max_size=8), JSON, min_size=1, max_size=4))
def test_a_response_and_its_json_text_say_the_same(response: dict[str, Any]) -> None:
    assert evidence_values(json.dumps(response)) == evidence_values(response)


@given(JSON)
def test_an_answer_of_all_values_carries_each(response: Any) -> None:
    values = evidence_values(response)
    answer = " ; ".join(values)
    assert all(carries(answer, value) for value in values)


@given(JSON)
def test_words_that_are_in_no_response_are_carried_by_none(response: Any) -> None:
    assert not any(carries("§", value) for value in evidence_values(response))
