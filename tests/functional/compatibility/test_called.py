"""The original benchmark's helpers: the same values wherever the original has one."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed_masbench import AnswerValidator, calculate_api_call_score
from trialbed_masbench import extract_called_apis_from_answer_details as extract_called_apis


def node(name: Any, *then: Any, text: bool = True, role: str = "tool") -> dict[str, Any]:
    message = {"name": name, "arguments": {}, "response": ""}
    return {"role": role, "message": json.dumps(message) if text else message, "next": list(then)}


def answer(*nodes: Any) -> dict[str, Any]:
    return {"answer": {"final_answer": "x", "answer_details": list(nodes)}}


@for_each(
    ("name", "pair"),
    [
        ("weather_now", ["weather", "now"]),
        ("Dad Jokes_v2_random", ["Dad Jokes", "v2_random"]),
        ("transfermarkt_search_for_theclique", ["transfermarkt", "search_for_theclique"]),
        ("Weather now", ["Weather", "now"]),
        ("_x", ["", "x"]),
    ],
)
def test_names_are_split_as_the_original_splits_them(name: str, pair: list[str]) -> None:
    assert extract_called_apis(answer(node(name))) == [pair]


def test_nodes_are_read_in_order_and_the_finish_is_left_out() -> None:
    nested = node("a_1", node("b_2", node("Finish")))
    assert extract_called_apis(answer(nested, node("c_3"))) == [["a", "1"], ["b", "2"], ["c", "3"]]


@for_each(
    "odd",
    [
        node("a_b", text=False),
        node("a_b", role="assistant"),
        node("plain"),
        node(None),
        {"role": "tool", "message": "{", "next": []},
        {"role": "tool", "message": "[1]", "next": None},
        {"role": "tool"},
        None,
        "text",
    ],
)
def test_what_cannot_be_read_is_left_out(odd: Any) -> None:
    assert extract_called_apis(answer(odd, node("c_3"))) == [["c", "3"]]


@for_each("empty", [{}, {"answer": {}}, {"answer": {"answer_details": []}}, {"answer": None}])
def test_an_answer_without_details_called_nothing(empty: dict[str, Any]) -> None:
    assert extract_called_apis(empty) == []
    assert not AnswerValidator.check_has_finish(empty)


def test_a_single_node_and_the_inner_object_are_read_too() -> None:
    assert extract_called_apis({"answer": {"answer_details": node("a_b")}}) == [["a", "b"]]
    assert extract_called_apis({"answer_details": [node("a_b")]}) == [["a", "b"]]
    assert extract_called_apis([node("a_b"), node("c_d")]) == [["a", "b"], ["c", "d"]]


@for_each(
    ("called", "gold", "score"),
    [
        ([["t", "a"], ["t", "b"]], [["t", "a"], ["t", "b"]], 1.0),
        ([["t", "a"], ["t", "a"], ["t", "c"]], [["t", "a"], ["t", "b"]], 0.5),
        ([["T", "a"]], [["t", "a"]], 0.0),
        ([["t", "a"]], [["t", "a"], ["t", "a"]], 1.0),
        ([["t", "a"]], [], 0.0),
        ([], [], 0.0),
        ([], [["t", "a"]], 0.0),
        ([("t", "a")], [["t", "a"]], 1.0),
    ],
)
def test_the_api_call_score(called: list[Any], gold: list[Any], score: float) -> None:
    assert calculate_api_call_score(called, gold) == score


def test_a_finish_is_found_wherever_it_stands() -> None:
    assert AnswerValidator.check_has_finish(answer(node("a_b", node("Finish"))))
    assert AnswerValidator.check_has_finish(answer(node("Finish", text=False)))
    assert not AnswerValidator.check_has_finish(answer(node("a_b")))
    assert not AnswerValidator.check_has_finish(answer(node("Finish", role="assistant")))


def test_a_deep_chain_is_read() -> None:
    chain = node("a_b")
    for _ in range(5000):
        chain = node("a_b", chain)
    assert len(extract_called_apis(answer(chain))) == 5001
