from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from trialbed.contracts import ToolSelector
from trialbed.errors import DataError, UsageError
from trialbed.records import Api, ApiRef, GoldCall, Parameter, Query
from trialbed_selection import open_selection
from trialbed_selection.choices import ChosenApi, ExplainedSelector
from trialbed_selection.selectors import QuerySelector
from trialbed_selection.tools import MAX_DESCRIPTION


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
    for given in wrong:
        said = f"Chooses.select must return a list of ApiRef, such as api.ref, not of {type(given).__name__}"
        with pytest.raises(UsageError, match=said):
            open_selection([now]).tools(query(now), Chooses(now.ref, given), max_tools=10)


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


class Explains(ExplainedSelector):
    def __init__(self, *choices: ChosenApi) -> None:
        self.found = choices

    def choices(self, query: Query, *, max_tools: int) -> list[ChosenApi]:
        return list(self.found)


def test_tools_that_fill_up_a_choice_are_marked() -> None:
    apis = [api("a", "1"), api("a", "2")]
    selector = Explains(ChosenApi(api=apis[1].ref, by="model"), ChosenApi(api=apis[0].ref, by="words", topped_up=True))
    tools = open_selection(apis).tools(query(), selector, max_tools=2)
    assert [(tool.name, tool.topped_up) for tool in tools] == [("a_1", True), ("a_2", False)]


def test_a_choice_nobody_knows_is_an_error_that_names_the_selector() -> None:
    with pytest.raises(DataError, match=r"Chooses chose .*nowhere"):
        open_selection([]).tools(query(), Chooses(api("nowhere", "x").ref), max_tools=1)


def test_an_identity_listed_twice_is_one_api() -> None:
    first, second = api("a", "b", description="first"), api("a", "b", description="second")
    (tool,) = open_selection([first, second]).tools(query(), Chooses(first.ref), max_tools=5)
    assert "first" in tool.description
