"""The recorded request that is most like another one, and how it differs first."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_plugins.recordings._difference import differences, nearest


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@for_each("name", ["messages", "input"])
def test_the_conversation_of_each_dialect_says_which_request_is_nearest(name: str) -> None:
    asked = {name: [user("a"), user("b"), user("c")]}
    recorded = [{name: [user(text) for text in texts]} for texts in ("xyz", "abz", "a")]
    assert nearest(asked, recorded) == recorded[1]


@for_each("name", ["system", "instructions"])
def test_instructions_beside_the_conversation_belong_to_it(name: str) -> None:
    recorded = [{name: text, "messages": [user("a")], "input": "a"} for text in ("Be long.", "Be brief.")]
    assert nearest({name: "Be brief.", "messages": [user("a")], "input": "a"}, recorded) == recorded[1]


@for_each("name", ["system", "instructions", "messages", "input"])
def test_what_the_model_reads_differs_before_a_setting_does(name: str) -> None:
    found = differences({name: "a", "a_setting": 1}, {name: "b", "a_setting": 2})
    assert [one.path for one in found] == [name, "a_setting"]
