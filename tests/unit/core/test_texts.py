"""Texts of any origin, read in linear time, and numbers in words."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.backtracking import processor_time
from support.cases import for_each

from trialbed.texts import MOST_MARKS, json_values, normalize, percent, points, whole_body, without_thoughts
from trialbed.views import number

TAGS = st.lists(st.sampled_from(["<think>", "</think>", "<THINKING>", "</thinking>", "<reasoning>", "x", "\n"])).map(
    "".join
)

THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)


@given(TAGS)
def test_thoughts_are_left_out_as_by_the_plain_pattern(text: str) -> None:
    assert without_thoughts(text) == THOUGHTS.sub("", text)


def test_more_marks_than_any_language_needs_are_left_out() -> None:
    text = "a" + "\u0315\u0300" * 500_000 + "b"
    # The library alone takes more than an hour.
    with processor_time(20):
        found = normalize("NFD", text)
    assert found == "a" + "\u0300" * (MOST_MARKS // 2) + "\u0315" * (MOST_MARKS // 2) + "b"
    assert normalize("NFC", "─" * 100) == "─" * 100


@for_each("piece", ["{", "[", '{"name":', '{"a":[', '{"', "\n{", "[1,", '{"a":"'])
def test_the_search_for_values_ends(piece: str) -> None:
    tries = 0

    class Counting(json.JSONDecoder):
        def raw_decode(self, text: str, start: int = 0) -> tuple[Any, int]:
            nonlocal tries
            tries += 1
            return decoder.raw_decode(text, start)

    decoder = json.JSONDecoder()
    # With quadratic effort this would take minutes.
    list(json_values((piece * 200_000)[:200_000], re.compile(r"[{\[]"), Counting()))
    assert tries < 25_000


def test_half_a_character_is_replaced_and_everything_else_stays() -> None:
    assert whole_body(b'{"a": "\\ud83d\\ude00", "b": [1.0]}') == b'{"a": "\\ud83d\\ude00", "b": [1.0]}'
    for odd in (b'"\\ud83d', b"[" * 5000 + b'"\\ud83d"' + b"]" * 5000):  # whoever reads it says what is wrong
        assert whole_body(odd) == odd
    assert json.loads(whole_body(b'{"a": "12.5 \\uD83D", "\\udfff": 1}')) == {"a": "12.5 \ufffd", "\ufffd": 1}


def test_a_share_is_0_or_100_only_where_it_is() -> None:
    assert [percent(share) for share in (0.0, 0.001, 0.005, 0.5, 0.99, 0.999, 1.0)] == [
        "0 %", "<1 %", "1 %", "50 %", "99 %", ">99 %", "100 %",
    ]  # fmt: skip
    assert percent(0.475) == f"{number(0.475, 2)[2:]} %"
    assert percent(0.285) == f"{number(0.285, 2)[2:]} %"
    assert [percent(share, 1) for share in (0.0, 0.0004, 0.0006, 0.367, 0.4, 0.9994, 0.9996, 1.0)] == [
        "0.0 %", "<0.1 %", "0.1 %", "36.7 %", "40.0 %", "99.9 %", ">99.9 %", "100.0 %",
    ]  # fmt: skip


def test_a_difference_has_a_digit_while_it_is_small_and_is_0_only_where_it_is() -> None:
    differences = (0.0, 0.1 + 0.2 - 0.3, 0.0004, -0.01, 0.036, 0.094, 0.095, 0.4)
    assert [points(difference) for difference in differences] == [
        "0 points", "0 points", "less than 0.1 points", "1 point", "3.6 points", "9.4 points", "10 points", "40 points",
    ]  # fmt: skip
