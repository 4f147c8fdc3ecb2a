"""Standardised names and cache keys."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.answers import standardize
from trialbed_server.standard_names import (
    StandardName,
    canonical_json,
    documented_name,
    request_key,
    requested_name,
    standard_input,
)


@for_each(
    ("name", "standard"),
    [
        ("Kick.com API | Kick API", "kick_com_api_kick_api"),
        ("/marks/women/{points}", "marks_women_points"),
        ("1. List", "get_1_list"),
        ("3D Models", "get_3d_models"),
        ("Döviz", "d_viz"),
        ("天气 API", "天气_api"),
        ("a^b", "a^b"),
        ("A__B", "a_b"),
        ("***", ""),
        ("From", "from"),
        ("👋 Demo Project", "demo_project"),
        ("Morpheus Predictions ", "morpheus_predictions"),
    ],
)
def test_names_are_standardised_as_stabletoolbench_does(name: str, standard: str) -> None:
    assert standardize(name) == standard


def test_endings_that_clients_add_are_cut() -> None:
    assert requested_name("Data", "movies", "search_for_movies") == ("Data", "movies", "search")
    assert requested_name("News, Media", "papers_for_News_Media", "list") == ("News_Media", "papers", "list")


def test_a_documented_name_is_never_cut() -> None:
    assert documented_name("Data", "Jobs_for_Data", "search_for_Jobs").tool == "jobs_for_data"


@given(st.text(), st.text(), st.text())
def test_standard_tools_and_apis_hold_nothing_that_means_a_path(category: str, tool: str, api: str) -> None:
    name = requested_name(category, tool, api)
    assert isinstance(name, StandardName)
    assert not set("/\\.") & set(name.tool + name.api)


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


def test_types_are_kept_apart() -> None:
    keys = {request_key(NAME, {"x": value}) for value in (1, "1", 1.0, True, None, "true", [1])}
    assert len(keys) == 7


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
