"""Which function of a request stands for which tool, as frameworks rename them."""

from __future__ import annotations

import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import ApiRef, ToolSpec
from trialbed.wire import OfferedTool
from trialbed.wire.offers import Offers

REF = ApiRef(category="c", tool_name="t", api_name="a")
LONG = "Weather_Now_and_Everywhere_with_Hourly_Values_of_the_Last_Days_X"


def tool(name: str, description: str = "") -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters={}, api=REF)


def offers(tools: dict[str, str], functions: dict[str, str]) -> Offers:
    """What is offered for these tools, both by name and description."""
    listed = [OfferedTool(name, text) for name, text in functions.items()]
    return Offers([tool(name, text) for name, text in tools.items()], listed)


def found(given_: Offers, name: str) -> str | None:
    function = given_.function(name)
    return None if function is None else function.name


@for_each(
    ("name", "offered"),
    [
        ("Weather_Now", "Weather_Now"),
        ("Weather_Now", "weather_now"),
        ("weather-now", "weather_now"),
        ("weather.now", "weatherNow"),
        ("Wetter_für_Köln", "wetter_fur_koln"),
        (LONG, f"{LONG[:55]}_1a2b3c4d"),
        (LONG, LONG[:50].lower()),
        ("Weather_Now", "weather_now_2"),
        ("Weather_Now", "mcp_127_0_0_1_18765_mcp_weather_now"),
        ("Weather_Now", "mcp__server__Weather_Now"),
    ],
)
def test_a_name_that_was_changed_is_recognised(name: str, offered: str) -> None:
    given_ = offers({name: "", "other": "", "elsewhere": ""}, {"other": "", offered: "", "final_answer": ""})
    assert found(given_, name) == offered
    assert given_.tool(offered) == name
    assert given_.tool("final_answer") is None
    assert found(given_, "elsewhere") is None


def test_a_tool_without_a_name_in_common_is_known_by_its_description() -> None:
    text = "The current weather of a city, from its nearest station."
    tools = {"Weather_Now": text, "Geo_Find": "Find a place by its name in any language."}
    functions = {"tool_1": f"Tool description:\n{text}\nArguments: city", "tool_2": "Find a place by  its name in any"}
    given_ = offers(tools, functions)
    assert (found(given_, "Weather_Now"), found(given_, "Geo_Find")) == ("tool_1", "tool_2")


def test_what_might_be_several_is_none_of_them() -> None:
    given_ = offers({"get_weather": "", "x": ""}, {"Get-Weather": "", "GetWeather": ""})
    assert found(given_, "get_weather") is None
    assert given_.might_be("get_weather") == ["Get-Weather", "GetWeather"]
    assert given_.might_be("x") == []
    twins = offers(
        {"get_weather": "same words for both of them", "GetWeather": "same words for both of them"}, {"gw": ""}
    )
    assert (found(twins, "get_weather"), found(twins, "GetWeather"), twins.tool("gw")) == (None, None, None)


def test_names_that_collide_are_told_apart_by_what_is_said_of_them() -> None:
    tools = {"get-weather": "The weather of a city, by its name.", "Get_Weather": "The weather at a place on the map."}
    functions = {"get_weather": tools["get-weather"], "get_weather_2": tools["Get_Weather"]}
    given_ = offers(tools, functions)
    assert {name: found(given_, name) for name in tools} == {
        "get-weather": "get_weather",
        "Get_Weather": "get_weather_2",
    }


def test_the_longest_name_behind_a_prefix_counts() -> None:
    given_ = offers({"weather": "", "get_weather": ""}, {"mcp_s_get_weather": "", "mcp_s_weather": ""})
    assert (found(given_, "weather"), found(given_, "get_weather")) == ("mcp_s_weather", "mcp_s_get_weather")


def crewai(name: str) -> str:
    snake = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
    return snake if len(snake) <= 64 else f"{snake[:55]}_{hashlib.sha256(snake.encode()).hexdigest()[:8]}"


NAMES = st.lists(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{2,70}[a-z]", fullmatch=True), min_size=1, max_size=8, unique=True
)


@given(NAMES)
def test_what_stands_for_a_tool_is_recognised_as_that_tool(names: list[str]) -> None:
    given_ = offers(dict.fromkeys(names, ""), {crewai(name): "" for name in names})
    for name in names:
        function = found(given_, name)
        assert function is None or function in names or given_.tool(function) == name
