"""What Agno does by itself: the rows of the tables in docs/reference/frameworks.md."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest
from support.adapters import refusal

from trialbed import Tool
from trialbed_adapter_lab import tool
from trialbed_scripted import Response, ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("agno:native"),
    pytest.mark.skipif(version("agno") < "3.1", reason="the tables are about newer releases"),
]

TEXT = {"type": "string"}
OBJECT = {"type": "object"}
ECHO = {"text": "a"}
STOPPED = "stopped by the limit"
UNKNOWN = "Error: The requested tool does not exist or is not available."


def schema(**properties):
    return {"type": "object", "properties": properties}


class TestFirstRequest:
    async def test_it_holds_what_was_given_and_nothing_else(self, harness):
        words = "{session_id} {user_id} {nothing}"
        record = await harness.run("done", query=words, system_prompt=words, seed=7, max_tokens=77)
        body = record.requests[0].body
        assert set(body) == {"model", "messages", "tools", "temperature", "seed", "max_tokens"}
        assert body["messages"] == [{"role": "system", "content": words}, {"role": "user", "content": words}]
        assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.0, 7, 77)
        assert set(body["tools"][0]["function"]) == {"name", "description", "parameters"}

    async def test_tools_are_sorted_by_name(self, harness):
        trial = harness.prepare("done", tools=[tool("b"), tool("Z"), tool("a")])
        trial.spec = trial.spec.model_copy(update={"tools": trial.spec.tools[::-1]})
        record = await trial.run()
        assert [function["name"] for function in record.requests[0].functions] == ["Z", "a", "b"]

    async def test_schemas_and_names_stay_as_they_are(self, harness):
        parameters = {
            "$defs": {"node": schema(next={"$ref": "#/$defs/node"})},
            "title": "T",
            "type": "object",
            "additionalProperties": False,
            "required": ["self"],
            "properties": {
                "self": TEXT,
                "a-b": {"const": 1},
                "open": {"type": "object", "additionalProperties": TEXT},
                "either": {"oneOf": [TEXT, {"type": ["integer", "null"], "default": 1}]},
                "tree": {"$ref": "#/$defs/node", "title": "Tree"},
            },
        }
        record = await harness.run("done", tools=[tool("Get-it", parameters=parameters), tool("none", parameters={})])
        assert record.requests[0].parameters("Get-it") == parameters
        assert record.requests[0].parameters("none") == {}


class TestCalls:
    async def test_texts_of_all_turns_are_one_answer(self, harness):
        record = await harness.run(ask(call("Echo_text", ECHO), text="First."), "Second.")
        assert record.answer.final_answer == "First.Second."

    async def test_an_unknown_tool_is_answered_before_the_other_results(self, harness):
        record = await harness.run(ask(call("Echo_text", ECHO), call("Nobody", "{}")), "done")
        assert record.requests[1].results == [("call_0_1", UNKNOWN), ("call_0_0", '{"text": "a"}')]
        assert [made.name for made in record.answer.calls] == ["Echo_text"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ('{"text": ', "Please make sure we can json.loads() the arguments and retry."),
            ("[1]", "Function arguments are not a valid JSON object."),
            ("null", "Function arguments are not a valid JSON object."),
        ],
    )
    async def test_arguments_that_are_no_object_are_answered(self, harness, arguments, words):
        record = await harness.run(call("Echo_text", arguments), "done")
        assert words in record.requests[1].results[0][1]
        assert (record.calls, record.answer.calls, record.answer.final_answer) == ((), (), "done")

    @pytest.mark.parametrize(
        ("arguments", "made"),
        [
            ("", {}),
            ("{'text': 'Paris'}", {"text": "Paris"}),
            ('{"text": "true", "in": {"x": "true"}}', {"text": True, "in": {"x": "true"}}),
            ('{"text": "none", "other": " a "}', {"text": None, "other": " a "}),
            ('{"text": 5, "extra": null}', {"text": 5, "extra": None}),
        ],
    )
    async def test_arguments_are_read_generously_and_not_validated(self, harness, arguments, made):
        record = await harness.run(call("Echo_text", arguments), "done")
        assert [seen.arguments for seen in record.calls] == [made]

    @pytest.mark.parametrize("name", ["_x", "self", "from", "agent", "images", "kwargs", "function_name"])
    async def test_parameters_reach_the_tool(self, harness, name):
        given = tool(parameters=schema(**{name: TEXT}))
        record = await harness.run(call("Echo_text", {name: "x"}), "done", tools=[given])
        assert [made.arguments for made in record.calls] == [{name: "x"}]

    @pytest.mark.parametrize("name", ["_agno_agent", "_agno_team", "_agno_run_context"])
    async def test_reserved_parameters_are_lost(self, harness, name):
        given = tool(parameters=schema(**{name: TEXT, "text": TEXT}))
        record = await harness.run(call("Echo_text", {name: "x", "text": "a"}), "done", tools=[given])
        assert [made.arguments for made in record.calls] == [{"text": "a"}]

    async def test_long_ids_are_replaced(self, harness):
        record = await harness.run(call("Echo_text", ECHO, "functions.Echo_text:0"), "done")
        [(identifier, *_)] = record.requests[1].tool_calls
        assert identifier.startswith("call_")
        assert record.requests[1].results == [(identifier, '{"text": "a"}')]

    async def test_a_tool_that_raises_is_answered_with_its_message(self, harness, monkeypatch):
        async def fail(*_):
            raise RuntimeError("database is down")

        monkeypatch.setattr(Tool, "ainvoke", fail)
        record = await harness.run(call("Echo_text", ECHO), "done")
        assert record.requests[1].results == [("call_0_0", "database is down")]
        assert (record.answer.calls, record.answer.final_answer) == ((), "done")


class TestNames:
    async def test_a_tool_named_get_user_input_pauses_the_run(self, harness):
        arguments = {"user_input_fields": [{"field_name": "a", "field_type": "str", "field_description": "b"}]}
        record = await harness.run(
            call("get_user_input", arguments), "never asked for", tools=[tool("get_user_input", parameters=OBJECT)]
        )
        assert record.answer.final_answer == "I have tools to execute, but I need user input."
        assert (record.answer.finish, len(record.requests)) == (None, 1)


class TestErrors:
    @pytest.mark.parametrize("text", ["", None])
    async def test_an_empty_message_is_an_empty_answer(self, harness, text):
        record = await harness.run(call("Echo_text", ECHO), say(text))
        assert (record.answer.final_answer, record.answer.finish, record.failure) == ("", None, None)

    async def test_a_text_that_was_cut_is_the_answer(self, harness):
        record = await harness.run(say("It says th", finish_reason="length"))
        assert (record.answer.final_answer, record.answer.finish) == ("It says th", "give_answer")

    async def test_reasoning_in_tags_is_taken_out_of_the_answer(self, harness):
        record = await harness.run("<think>Hm.</think>It says hello.")
        assert record.answer.final_answer == "It says hello."

    @pytest.mark.usefixtures("no_waiting")
    @pytest.mark.parametrize(("status", "requests"), [(429, 3), (500, 3), (400, 1), (401, 1), (403, 1)])
    async def test_the_words_of_a_refusing_endpoint_are_the_answer(self, harness, status, requests):
        record = await harness.run(forever(fail(status)))
        assert record.answer.final_answer == f"the model refuses with {status}"
        assert (record.answer.finish, record.failure, len(record.requests)) == (None, None, requests)

    async def test_a_response_without_choices_is_an_error_as_the_answer(self, harness):
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
        record = await harness.run(Response.text(json.dumps(body)))
        assert (record.answer.final_answer, record.answer.finish) == ("list index out of range", None)


class TestLimits:
    @pytest.mark.parametrize("status", [400, 403])
    async def test_the_limits_refusal_is_asked_for_once_and_becomes_the_answer(self, harness, status):
        record = await harness.run(*[ask(call("Echo_text", ECHO))] * 3, forever(refusal(status, STOPPED)))
        assert (record.answer.final_answer, record.answer.finish) == (STOPPED, None)
        assert (len(record.requests), len(record.calls)) == (4, 3)
        assert record.answer.calls == ()
