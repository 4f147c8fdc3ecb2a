"""Cache keys are equal exactly for equal calls."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialbed_server.standard_names import StandardName, canonical_json, request_key, standard_input

NAME = StandardName("Data", "tool", "api")

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(values)
def test_the_order_of_keys_does_not_matter_at_any_depth(value: Any) -> None:
    assert request_key(NAME, value) == request_key(NAME, shuffled(value))


@given(values)
def test_canonical_json_is_ascii_that_reads_back_the_same(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert repr(json.loads(text)) == repr(json.loads(json.dumps(value, sort_keys=True)))


def test_types_are_kept_apart() -> None:
    keys = {request_key(NAME, {"x": value}) for value in (1, "1", 1.0, True, None, "true", [1])}
    assert len(keys) == 7


def test_parts_of_a_name_cannot_run_into_each_other() -> None:
    assert request_key(StandardName("a", "b_c", "d"), {}) != request_key(StandardName("a", "b", "c_d"), {})


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_numbers_that_are_not_json_have_no_key(number: float) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        request_key(NAME, {"x": number})


def test_standard_input_renames_parameters_unless_two_would_meet() -> None:
    assert standard_input({"sourceId": 1, "id": 2}) == {"sourceid": 1, "is_id": 2}
    assert standard_input({"a b": 1, "a_b": 2}) == {"a b": 1, "a_b": 2}
    assert standard_input([1]) == [1]


@given(values | st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()))
@example({"x": "\x7f"})
def test_a_key_is_the_digest_of_the_canonical_json_whichever_encoder_is_faster(value: Any) -> None:
    assert request_key(NAME, value) == hashlib.sha256(canonical_json([*NAME, value]).encode()).hexdigest()
