"""The conversation that stands between a framework and the endpoint in a controlled trial."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed import ApiRef, Limits, ModelEndpoint, ModelFailed, Tool, ToolSpec
from trialbed_controlled import ControlledChat

ENDPOINT = ModelEndpoint(base_url="http://127.0.0.1:1/v1", api_key="k", model="m", seed=7)
API = ApiRef(category="c", tool_name="t", api_name="a")
SCHEMA = {"type": "object", "properties": {"x": {"title": "X"}}}
WRITTEN = '{"x" :  1.0}'


class Echo(Tool):
    async def ainvoke(self, arguments: Any) -> str:
        return f"made with {json.dumps(dict(arguments))}"

    def invoke(self, arguments: Any) -> str:
        return f"made in a thread with {json.dumps(dict(arguments))}"


@pytest.fixture
def chat() -> ControlledChat:
    spec = ToolSpec(name="get-it", description="Gets it.", parameters=SCHEMA, api=API)
    return ControlledChat(ENDPOINT, Limits(max_steps=2), [Echo(spec, "")], system_prompt="Be brief.", query="Why?")


def completion(content: str | None, *calls: tuple[str, Any, str]) -> dict[str, Any]:
    made = [{"id": id_, "type": "function", "function": {"name": name, "arguments": text}} for name, text, id_ in calls]
    message = {"role": "assistant", "content": content, "reasoning_content": "Hm.", "tool_calls": made}
    return {"choices": [{"message": message}], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": None}}


def sealed(reply: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(call["function"]["arguments"]) for call in reply["choices"][0]["message"]["tool_calls"]]


def test_the_first_request_is_the_trials(chat: ControlledChat) -> None:
    assert chat.request({}) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "temperature": 0.0,
        "seed": 7,
        "tools": [
            {"type": "function", "function": {"name": "get-it", "description": "Gets it.", "parameters": SCHEMA}}
        ],
    }


async def test_messages_go_back_as_they_came_and_the_framework_gets_ids_of_its_own(chat: ControlledChat) -> None:
    reply = chat.reply(completion("I look.", ("get-it", WRITTEN, "same"), ("get-it", WRITTEN, "same")))
    calls = sealed(reply)
    assert [call["text"] for call in calls] == [WRITTEN, WRITTEN]
    assert len({call["call"] for call in calls}) == 2
    assert reply["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert await chat.make(calls[0]) == 'made with {"x": 1.0}'
    assert chat.make_in_thread(calls[1]) == 'made in a thread with {"x": 1.0}'
    _, _, said, *results = chat.request({})["messages"]
    assert set(said) == {"role", "content", "tool_calls"}
    assert [call["function"]["arguments"] for call in said["tool_calls"]] == [WRITTEN, WRITTEN]
    assert [result["tool_call_id"] for result in results] == ["same", "same"]
    assert [result["content"] for result in results] == ['made with {"x": 1.0}', 'made in a thread with {"x": 1.0}']


@pytest.mark.parametrize("text", ["[1]", "{'x': 1}", "null", '{"x": NaN}', '{"x": "\\ud83d"}', "[" * 5_000])
async def test_arguments_that_are_no_object_are_an_error_and_no_claim(chat: ControlledChat, text: str) -> None:
    (call,) = sealed(chat.reply(completion(None, ("get-it", text, "a"))))
    assert await chat.make(call) == f"Error: the arguments are not a JSON object: {text}"
    assert chat.claim("get-it", call, "") is None


async def test_a_call_whose_name_the_framework_repairs_is_not_claimed(chat: ControlledChat) -> None:
    (call,) = sealed(chat.reply(completion(None, ("get it", WRITTEN, "a"))))
    assert await chat.make(call) == "Error: there is no tool 'get it'"
    assert chat.claim("get-it", call, "Error: there is no tool 'get it'") is None


async def test_a_call_that_is_not_made_has_the_frameworks_words(chat: ControlledChat) -> None:
    reply = chat.reply(completion(None, ("nobody", "{}", "a"), ("nobody", "{}", "b"), ("nobody", "{}", "c")))
    one, other, _ = sealed(reply)
    assert await chat.make(other) == "Error: there is no tool 'nobody'"
    results = chat.request({one["call"]: "Which tool?"})["messages"][3:]
    assert [result["content"] for result in results] == [
        "Which tool?",
        "Error: there is no tool 'nobody'",
        "Error: the call was not made",
    ]
    assert chat.claim("nobody", one, "") is None
    chat.say("And now?")
    assert chat.request({})["messages"][3:6] == results


def test_a_trial_is_over_after_its_last_turn(chat: ControlledChat) -> None:
    for _ in range(2):
        assert not chat.is_over
        chat.reply(completion(None, ("get-it", "{}", "a")))
    assert chat.is_over
    assert not chat.was_cut_off
    assert chat.last_word()["choices"][0]["message"] == {"role": "assistant", "content": None}
    assert chat.was_cut_off


def test_half_an_emoji_is_replaced_and_odd_tokens_are_left_out(chat: ControlledChat) -> None:
    reply = chat.reply({"choices": [{"message": {"content": "hello \ud83e"}}], "usage": {"prompt_tokens": None}})
    assert (reply["choices"][0]["message"]["content"], reply["usage"]) == ("hello ?", None)


def test_a_call_without_an_id_gets_one_which_its_result_needs(chat: ControlledChat) -> None:
    calls = sealed(chat.reply(completion(None, ("get-it", "{}", ""), ("get-it", WRITTEN, "b"))))
    assert [call["text"] for call in calls] == ["{}", WRITTEN]
    assert [call["id"] for call in chat.request({})["messages"][2]["tool_calls"]] == ["call_0_4f587d67", "b"]


def test_what_a_vendor_adds_to_a_call_goes_back_to_it(chat: ControlledChat) -> None:
    sent = completion(None, ("get-it", "{}", "a"))
    sent["choices"][0]["message"]["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "s"}}
    chat.reply(sent)
    assert chat.request({})["messages"][2]["tool_calls"] == sent["choices"][0]["message"]["tool_calls"]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"id": "a", "choices": [], "usage": None}, 'the answer has no choices: {"id": "a", "choices": []}'),
        ({"error": {"message": "no"}}, 'the answer reports an error: {"error": {"message": "no"}}'),
        ({"error": {}, "id": "a"}, 'the answer has no choices: {"error": {}, "id": "a"}'),
        ({"choices": [{"message": None}]}, 'the first choice has no message: {"choices": [{"message": null}]}'),
    ],
)
def test_what_a_document_lacks_is_said_in_words_and_as_json(chat: ControlledChat, document: Any, text: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        chat.reply(document)
    assert str(failed.value) == f"the model's endpoint did not answer with a completion: {text}"


def test_a_content_in_parts_goes_back_as_it_came_and_the_framework_gets_its_text(chat: ControlledChat) -> None:
    thought = {"type": "thinking", "thinking": "Hm."}
    parts = [thought, {"type": "text", "text": "It is"}, {"type": "text", "text": " so."}]
    sent = completion(None)
    sent["choices"][0]["message"]["content"] = [*parts, {"type": "text", "text": "\ud83d"}]
    assert chat.reply(sent)["choices"][0]["message"]["content"] == "It is so.?"
    assert chat.request({})["messages"][-1]["content"] == [*parts, {"type": "text", "text": "?"}]
