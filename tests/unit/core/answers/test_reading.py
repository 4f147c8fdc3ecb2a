"""Reading what agents return."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each

from trialbed.answers import answer_names, read_answer
from trialbed.errors import AnswerError
from trialbed.records import Answer, ApiRef, ToolSpec

GEO = ApiRef(category="Location", tool_name="Geo_Tools", api_name="find_city")
WEATHER = ApiRef(category="Weather", tool_name="Weather", api_name="now")
NAMES = answer_names(
    [
        ToolSpec(name="Geo_Tools_find_city", description="", parameters={}, api=GEO),
        ToolSpec(name="weather_now", description="", parameters={}, api=WEATHER),
    ]
)


def node(name, arguments=None, response="", then=(), text=True):
    message = {"name": name, "arguments": arguments or {}, "response": response}
    return {"role": "tool", "message": json.dumps(message) if text else message, "next": list(then)}


def document(*nodes, final_answer="", **rest):
    return {"answer": {"final_answer": final_answer, "answer_details": list(nodes)}, **rest}


FINISH = node("Finish", {"return_type": "give_answer", "final_answer": "Uppsala"})


def test_nested_and_flat_nodes_are_the_same_answer():
    flat = document(node("Geo_Tools_find_city"), node("Weather_now"), FINISH)
    nested = document(
        {
            "role": "system",
            "message": "",
            "next": [
                {
                    "role": "user",
                    "message": "",
                    "next": [node("Geo_Tools_find_city", then=[node("Weather_now", then=[FINISH])])],
                }
            ],
        }
    )
    assert read_answer(flat, NAMES) == read_answer(nested, NAMES)
    assert [call.api for call in read_answer(nested, NAMES).calls] == [GEO, WEATHER]


def test_without_a_finish_node_the_agent_did_not_finish():
    assert read_answer(document(final_answer="sure"), NAMES).finish is None
    finished = read_answer(document(FINISH), NAMES)
    assert (finished.finish, finished.final_answer) == ("give_answer", "Uppsala")
    assert read_answer(document(FINISH, final_answer="It is Uppsala."), NAMES).final_answer == "It is Uppsala."
    gave_up = node("Finish", {"return_type": "give_up_and_restart"})
    assert read_answer(document(gave_up), NAMES).finish == "give_up_and_restart"


def test_messages_and_their_arguments_may_be_text_or_objects():
    message = {"name": "weather_now", "arguments": {"city": "Oslo"}, "response": "cold"}
    texts = [{**message, "arguments": text} for text in ('{"city": "Oslo"}', '{"city"')]
    given = (message, json.dumps(message), *texts)
    calls = read_answer(document(*({"role": "tool", "message": one, "next": []} for one in given)), NAMES).calls
    assert {(call.name, call.api, call.response) for call in calls} == {("weather_now", WEATHER, "cold")}
    assert [call.arguments for call in calls] == [*[{"city": "Oslo"}] * 3, '{"city"']


def test_pairs_that_no_call_is_about_are_added_without_arguments():
    value = document(
        node("weather_now", {"city": "Oslo"}),
        called_apis=[["Weather", "now"], ["Geo_Tools", "find_city"], ["Geo_Tools", "find_city"], ["Who", "knows"]],
    )
    calls = read_answer(value, NAMES).calls
    assert [(call.name, call.api, call.arguments) for call in calls] == [
        ("weather_now", WEATHER, {"city": "Oslo"}),
        ("Geo_Tools_find_city", GEO, None),
        ("Who_knows", None, None),
    ]


def test_a_deep_chain_is_read():
    chain = FINISH
    for _ in range(5_000):
        chain = node("weather_now", then=[chain], text=False)
    answer = read_answer(document(chain), NAMES)
    assert len(answer.calls) == 5_000
    assert answer.finish == "give_answer"


@for_each(
    ("value", "place"),
    [
        ([], "an agent returns .*, not a value of type list"),
        ({"said": "Yes"}, "an agent returns .*, not a value of type dict"),
        ({"messages": [3]}, "an agent returns .*, not a value of type dict"),
        ({"answer": 3}, "answer: must be an object, not int"),
        ({"final_answer": 3}, r"answer\.final_answer: Input should be a valid string"),
        ({"final_answer": "Yes", "calls": [3]}, r"answer\.calls\.0: "),
        (document(final_answer=3), r"answer\.final_answer: must be text, not int"),
        ({"answer": {"answer_details": {}}}, r"answer\.answer_details: must be a list"),
        (document(None), r"answer\.answer_details\[0\]: a node must be an object, not nothing"),
        (document({"role": "robot"}), r"answer_details\[0\]\.role: must be one of .*'robot'"),
        (document(FINISH, {"role": "tool"}), r"answer_details\[1\]\.message: must be an object .*, not nothing"),
        (document({"role": "tool", "message": "{"}), r"answer_details\[0\]\.message: is not JSON"),
        (document({"role": "tool", "message": "[1]"}), r"answer_details\[0\]\.message: must be an object"),
        (document({"role": "tool", "message": {"name": ""}}), r"answer_details\[0\]\.message\.name"),
        (document(node("x", [1])), r"answer_details\[0\]\.message\.arguments: must be an object"),
        (document(node("Finish", {"return_type": "done"})), r"message\.arguments\.return_type: .*'done'"),
        (document(node("x", then=[node("y", then=["z"])])), r"answer_details\[0\]\.next\[0\]\.next\[0\]: a node"),
        (document({"role": "user", "next": 7}), r"answer_details\[0\]\.next: must be a list"),
        (document(called_apis="Weather"), "called_apis: must be a list"),
        (document(called_apis=[["Weather", "now"], ["Weather"]]), r"called_apis\[1\]: must be \[tool_name, api_name\]"),
    ],
)
def test_what_is_malformed_is_named(value, place):
    with pytest.raises(AnswerError, match=place):
        read_answer(value, NAMES)


def test_names_are_looked_up_and_never_split():
    calls = read_answer(document(node("Geo_Tools_find_city"), node("Geo_Tools")), NAMES).calls
    assert [call.api for call in calls] == [GEO, None]
    one, two, other = (
        ApiRef(category="c", tool_name=tool, api_name=name) for tool, name in (("a_b", "c"), ("a", "b_c"), ("x", "y"))
    )
    for own, expected in (
        ({"t0": one, "t1": two}, {"t0": one, "t1": two}),  # a title of two Apis means neither
        ({"n": one, "a_b_c": other}, {"n": one, "a_b_c": other, "x_y": other}),  # a tool's name wins over a title
    ):
        tools = [ToolSpec(name=name, description="", parameters={}, api=api) for name, api in own.items()]
        assert answer_names(tools) == expected


@for_each(
    "value",
    [
        " Paris\n",
        {"answer": "Paris"},
        {"final_answer": "Paris"},
        Answer(final_answer="Paris"),
        SimpleNamespace(text="Paris"),
        SimpleNamespace(content="Paris"),
        SimpleNamespace(text=print, output="Paris"),
        SimpleNamespace(final_output="Paris"),
        {"output": "Paris"},
        {"messages": ["Hm", {"role": "assistant", "content": "Paris"}]},
        {"messages": [SimpleNamespace(content="Paris")]},
        SimpleNamespace(messages=(SimpleNamespace(content="Paris"),)),
    ],
)
def test_a_text_is_an_answer_that_finished_and_claims_nothing(value: Any) -> None:
    answer = read_answer(value, {})
    assert (answer.final_answer, answer.finish, answer.reports_calls) == ("Paris", "give_answer", False)


def test_nothing_is_an_answer_that_did_not_finish() -> None:
    answer = read_answer(None, {})
    assert (answer.final_answer, answer.finish) == ("", None)
