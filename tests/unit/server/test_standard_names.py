"""Standardised names against StableToolBench's own results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.answers import change_name, standardize
from trialbed_server.standard_names import (
    StandardName,
    documented_name,
    parameter_name,
    requested_name,
    standard_category,
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


@for_each(
    ("category", "standard"), [("News, Media", "News_Media"), ("a///b", "a__b"), ("Video/Images", "Video_Images")]
)
def test_categories_lose_separators_in_one_pass(category: str, standard: str) -> None:
    assert standard_category(category) == standard


@for_each(("name", "standard"), [("sourceId", "sourceid"), ("id", "is_id"), ("From", "is_from")])
def test_parameters_are_renamed_as_stabletoolbench_does(name: str, standard: str) -> None:
    assert parameter_name(name) == standard


def test_endings_that_clients_add_are_cut() -> None:
    assert requested_name("Data", "movies", "search_for_movies") == ("Data", "movies", "search")
    assert requested_name("News, Media", "papers_for_News_Media", "list") == ("News_Media", "papers", "list")


def test_for_inside_a_name_is_kept() -> None:
    assert requested_name("Data", "USA Jobs for IT", "jobs_for_you") == ("Data", "usa_jobs_for_it", "jobs_for_you")
    assert requested_name("Data", "", "list_for_") == ("Data", "", "list_for")
    assert requested_name("Data", "_for_Data", "_for_x") == ("Data", "for_data", "for_x")


def test_a_documented_name_is_never_cut() -> None:
    assert documented_name("Data", "Jobs_for_Data", "search_for_Jobs").tool == "jobs_for_data"


@given(st.text())
def test_standardising_twice_changes_nothing(name: str) -> None:
    once = change_name(standardize(name))
    assert change_name(standardize(once)) == once


@given(st.text(), st.text(), st.text())
def test_standard_tools_and_apis_hold_nothing_that_means_a_path(category: str, tool: str, api: str) -> None:
    name = requested_name(category, tool, api)
    assert isinstance(name, StandardName)
    assert not set("/\\.") & set(name.tool + name.api)
