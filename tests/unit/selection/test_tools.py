"""Tools of a query: their names, and a selector's choices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.contracts import ToolSelector
from trialbed.errors import DataError, UsageError
from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query
from trialbed_selection import open_selection, safe_name, tool_names
from trialbed_selection.selectors import QuerySelector
from trialbed_selection.tools import MAX_DESCRIPTION

SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
names = st.text(max_size=80) | st.text(alphabet="ab_-/ é", max_size=6)
refs = st.builds(ApiRef, category=st.sampled_from(["A", "B"]), tool_name=names, api_name=names)


def ref(tool_name: str, api_name: str, category: str = "C") -> ApiRef:
    return ApiRef(category=category, tool_name=tool_name, api_name=api_name)


@for_each(
    ("original", "expected"),
    [
        ("Website Screenshot or Thumbnail_/capture", "Website_Screenshot_or_Thumbnail_capture"),
        ("SEO API - Get Backlinks_GetTopBacklinks", "SEO_API_-_Get_Backlinks_GetTopBacklinks"),
        ("-x", "tool_-x"),
        ("!!!", "tool"),
        ("", "tool"),
        ("KolektifAPI_Döviz", "KolektifAPI_D_viz"),
        ("1_2", "1_2"),
        ("_a__b_", "a_b"),
        ("a" * 70, "a" * 64),
        ("a" * 63 + "_b", "a" * 63),
    ],
)
def test_original_names_become_model_safe(original: str, expected: str) -> None:
    assert safe_name(original) == expected


@for_each(
    ("original", "expected"),
    [
        ("get_weather", "get_weather"),
        ("solve.quadratic_equation", "solve_quadratic_equation"),
        ("__private__name", "__private__name"),
        ("a b", "a_b"),
        ("é" * 3, "tool"),
        ("a" * 65, "a" * 64),
    ],
)
def test_functions_keep_the_names_that_endpoints_take(original: str, expected: str) -> None:
    function = ref("", original)
    assert tool_names([function]) == {function: expected}


@given(st.text(max_size=200))
def test_every_name_is_safe_and_stays_as_it_is_the_second_time(original: str) -> None:
    name = safe_name(original)
    assert SAFE.fullmatch(name)
    assert safe_name(name) == name


@given(st.lists(refs, unique=True, max_size=30), st.randoms(use_true_random=False))
def test_names_are_unique_safe_and_the_same_in_any_order(originals: list[ApiRef], random) -> None:
    found = tool_names(originals)
    assert len(set(found.values())) == len(originals)
    assert all(SAFE.fullmatch(name) for name in found.values())
    random.shuffle(originals)
    assert tool_names(originals) == found


@given(st.lists(refs, unique=True, max_size=10), st.lists(refs, unique=True, max_size=10))
def test_names_never_meet_names_already_taken(catalog: list[ApiRef], others: list[ApiRef]) -> None:
    taken = set(tool_names(catalog).values())
    assert taken.isdisjoint(tool_names(others, taken).values())


def test_all_that_meet_get_a_suffix_and_others_none() -> None:
    found = tool_names([ref("a b", "c"), ref("a_b", "c"), ref("d", "e")])
    assert found[ref("d", "e")] == "d_e"
    assert re.fullmatch(r"a_b_c_[0-9a-f]{8}", found[ref("a b", "c")])
    assert re.fullmatch(r"a_b_c_[0-9a-f]{8}", found[ref("a_b", "c")])


def api(tool_name: str, api_name: str, **more: object) -> Api:
    return Api(category="C", tool_name=tool_name, api_name=api_name, **more)


def query(*apis: Api, gold: Sequence[Api] = ()) -> Query:
    return Query(query_id=1, text="?", apis=apis, gold_calls=tuple(GoldCall(api=item.ref) for item in gold))


class Chooses(ToolSelector):
    def __init__(self, *refs: ApiRef) -> None:
        self.refs = refs

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return self.refs


def test_tools_are_sorted_by_name_and_carry_the_whole_schema() -> None:
    apis = [
        api("weather", "now", required_parameters=(Parameter(name="city", description="where"),)),
        api("currency", "rate"),
    ]
    tools = open_selection(apis).tools(query(*apis), QuerySelector(), max_tools=10)
    assert [tool.name for tool in tools] == ["currency_rate", "weather_now"]
    assert tools[1].api == apis[0].ref
    assert tools[1].parameters == apis[0].parameters_schema()


def test_descriptions_say_what_tool_and_api_do_within_the_limit() -> None:
    short = api("weather", "now", description="Says the\n weather.", tool_description="All about weather.")
    long = api("weather", "then", description="x" * 5000)
    tools = open_selection([short, long]).tools(query(short, long), QuerySelector(), max_tools=10)
    assert tools[0].description == "weather / now\nSays the weather.\nAbout weather: All about weather."
    assert len(tools[1].description) == MAX_DESCRIPTION


def test_a_selector_that_gives_something_else_than_identities_is_named() -> None:
    now = api("weather", "now")
    wrong: tuple[Any, ...] = (now, ["C", "weather", "now"], now.ref.title)
    for one in wrong:
        said = f"Chooses.select must return a list of ApiRef, such as api.ref, not of {type(one).__name__}"
        with pytest.raises(UsageError, match=said):
            open_selection([now]).tools(query(now), Chooses(now.ref, one), max_tools=10)


def test_names_are_those_of_the_whole_dataset_not_of_the_query() -> None:
    apis = [api("a b", "c"), api("a_b", "c")]
    stage = open_selection(apis)
    (tool,) = stage.tools(query(apis[0]), QuerySelector(), max_tools=10)
    assert tool.name == stage.names[apis[0].ref] != "a_b_c"


def test_apis_of_the_query_that_the_dataset_lacks_get_names_of_their_own() -> None:
    known, stray = api("a_b", "c"), api("a b", "c")
    tools = open_selection([known]).tools(query(known, stray), QuerySelector(), max_tools=10)
    names = {tool.api: tool.name for tool in tools}
    assert names[known.ref] == "a_b_c"
    assert names[stray.ref].startswith("a_b_c_")


def test_choices_are_cut_and_each_is_one_tool() -> None:
    apis = [api("a", "1"), api("a", "2"), api("a", "3")]
    selector = Chooses(apis[2].ref, apis[2].ref, apis[0].ref, apis[1].ref)
    tools = open_selection(apis).tools(query(), selector, max_tools=2)
    assert [tool.name for tool in tools] == ["a_1", "a_3"]


def test_a_choice_nobody_knows_is_an_error_that_names_the_selector() -> None:
    with pytest.raises(DataError, match=r"Chooses chose .*nowhere"):
        open_selection([]).tools(query(), Chooses(api("nowhere", "x").ref), max_tools=1)
