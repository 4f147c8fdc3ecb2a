"""What LangGraph does by itself: the rows of the tables in docs/reference/frameworks.md."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from trialbed import Tool
from trialbed_adapter_lab import tool
from trialbed_scripted import Response, ask, call, fail, forever, say

pytestmark = [pytest.mark.framework("langgraph:native"), pytest.mark.slow(15)]

newer = pytest.mark.skipif(version("langchain") < "1.4", reason="the tables are about newer releases")

TEXT = {"type": "string"}
ECHO = {"text": "a"}


def schema(**properties):
    return {"type": "object", "properties": properties}


class TestFirstRequest:
    async def test_it_holds_what_was_given_and_nothing_else(self, harness):
        names = ["Zebra", "a-b", "lookup"]
        given = [tool(name, parameters=schema(text=TEXT)) for name in names]
        record = await harness.run("done", query="Why?", system_prompt="Answer {this}.", tools=given, seed=7)
        body = record.requests[0].body
        assert set(body) == {"model", "stream", "messages", "tools", "temperature", "seed"}
        assert body["messages"] == [
            {"role": "system", "content": "Answer {this}."},
            {"role": "user", "content": "Why?"},
        ]
        assert (body["stream"], body["temperature"], body["seed"]) == (False, 0.0, 7)
        assert [set(entry["function"]) for entry in body["tools"]] == [{"name", "description", "parameters"}] * 3
        assert [function["name"] for function in record.requests[0].functions] == names

    async def test_the_limit_of_tokens_has_another_name(self, harness):
        record = await harness.run("done", max_tokens=77)
        body = record.requests[0].body
        assert (body.get("max_completion_tokens"), "max_tokens" in body) == (77, False)

    async def test_references_are_written_out_and_recursion_is_cut(self, harness):
        parameters = {
            "$defs": {"place": schema(city=TEXT), "node": schema(next={"$ref": "#/$defs/node"})},
            **schema(at={"$ref": "#/$defs/place"}, tree={"$ref": "#/$defs/node"}),
        }
        record = await harness.run("done", tools=[tool(parameters=parameters)])
        assert record.requests[0].parameters("Echo_text") == schema(at=schema(city=TEXT), tree=schema(next={}))

    async def test_titles_and_the_schemas_own_description_are_dropped(self, harness):
        parameters = {"title": "T", "description": "d", **schema(title={**TEXT, "title": "N", "description": "stays"})}
        record = await harness.run("done", tools=[tool(parameters=parameters)])
        assert record.requests[0].parameters("Echo_text") == schema(title={**TEXT, "description": "stays"})

    async def test_all_other_schemas_stay_as_they_are(self, harness):
        parameters = {
            "type": "object",
            "additionalProperties": False,
            "required": ["mode"],
            "properties": {
                "open": {"type": "object", "additionalProperties": TEXT},
                "free": {"type": "object"},
                "mode": {"enum": ["x", None], "default": "x"},
                "either": {"oneOf": [TEXT, {"type": "integer", "minimum": 1}], "x-note": 1},
                "several": {"type": ["string", "null"], "pattern": "^a", "format": "date"},
                "fixed": {"const": 1, "examples": [1]},
            },
        }
        record = await harness.run("done", tools=[tool(parameters=parameters)])
        assert record.requests[0].parameters("Echo_text") == parameters


class TestModelNames:
    async def test_a_reasoning_model_loses_the_temperature_and_renames_the_system_role(self, harness):
        five = await harness.run("done", model="gpt-5")
        three = await harness.run("done", model="o3")
        assert "temperature" not in five.requests[0].body
        assert three.requests[0].messages[0]["role"] == "developer"


class TestCalls:
    async def test_an_unknown_tool_is_answered_with_the_names_of_all(self, harness):
        record = await harness.run(call("Nobody", "{}"), "done", tools=[tool("a"), tool("b")])
        words = "Error: Nobody is not a valid tool, try one of [a, b]."
        assert record.requests[1].results == [("call_0_0", words)]
        assert (record.answer.calls, record.answer.final_answer) == ((), "done")

    @pytest.mark.parametrize("arguments", ['{"text": 5}', "{}", '{"text": "a", "more": null}'])
    async def test_arguments_are_not_validated(self, harness, arguments):
        record = await harness.run(call("Echo_text", arguments), "done")
        assert [made.arguments for made in record.calls] == [json.loads(arguments)]

    @pytest.mark.parametrize("name", ["from", "_x", "__class__", "runtime", "state", "store", "input", "callbacks"])
    async def test_most_parameters_reach_the_tool(self, harness, name):
        record = await harness.run(
            call("Echo_text", {name: "x"}), "done", tools=[tool(parameters=schema(**{name: TEXT}))]
        )
        assert [made.arguments for made in record.calls] == [{name: "x"}]

    @pytest.mark.parametrize("name", ["config", "run_manager"])
    async def test_reserved_parameters_are_offered_and_lost(self, harness, name):
        given = tool(parameters=schema(**{name: TEXT, "text": TEXT}))
        record = await harness.run(call("Echo_text", {name: "x", "text": "a"}), "done", tools=[given])
        assert set(record.requests[0].parameters("Echo_text")["properties"]) == {name, "text"}
        assert [made.arguments for made in record.calls] == [{"text": "a"}]

    async def test_a_parameter_named_as_a_reference_ends_the_run_before_the_first_request(self, harness):
        record = await harness.run("never asked for", tools=[tool(parameters=schema(**{"$ref": TEXT}))])
        assert record.failure.message == "TypeError: unhashable type: 'dict'"
        assert record.requests == ()

    async def test_a_parameter_named_self_ends_the_run(self, harness):
        given = tool(parameters=schema(self=TEXT))
        record = await harness.run(call("Echo_text", {"self": "x"}), "done", tools=[given])
        assert record.failure.message.startswith("TypeError: StructuredTool._arun() got multiple values")
        assert len(record.requests) == 1


class TestErrors:
    @pytest.mark.parametrize("text", [None, "Let me see."])
    async def test_arguments_that_are_not_json_end_the_run_without_an_error(self, harness, text):
        record = await harness.run(ask(call("Echo_text", '{"text": '), text=text), "never asked for")
        assert (record.answer.final_answer, record.failure) == (text or "", None)
        assert record.answer.finish == ("give_answer" if text else None)
        assert len(record.requests) == 1

    @newer
    async def test_arguments_that_are_not_json_are_answered_beside_a_good_call(self, harness):
        record = await harness.run(ask(call("Echo_text", "{"), call("Echo_text", ECHO)), "done")
        results = dict(record.requests[1].results)
        assert "arguments were malformed or truncated" in results["call_0_0"]
        assert [identifier for identifier, *_ in record.requests[1].tool_calls] == ["call_0_1", "call_0_0"]
        assert record.answer.final_answer == "done"

    @pytest.mark.parametrize("arguments", ["[1]", '"Oslo"'])
    async def test_arguments_that_are_json_but_no_object_end_the_run(self, harness, arguments):
        record = await harness.run(call("Echo_text", arguments), "never asked for")
        assert record.failure.message.startswith("ValidationError: 1 validation error for AIMessage")
        assert len(record.requests) == 1

    async def test_a_tool_that_raises_ends_the_run_with_its_own_exception(self, harness, monkeypatch):
        async def fail(*_):
            raise RuntimeError("database is down")

        monkeypatch.setattr(Tool, "ainvoke", fail)
        record = await harness.run(call("Echo_text", ECHO), "never asked for")
        assert record.failure.message == "RuntimeError: database is down"
        assert len(record.requests) == 1

    @pytest.mark.parametrize("text", ["", None])
    async def test_an_empty_message_is_an_empty_answer(self, harness, text):
        record = await harness.run(call("Echo_text", ECHO), say(text))
        assert (record.answer.final_answer, record.answer.finish, record.failure) == ("", None, None)

    async def test_a_text_that_was_cut_is_the_answer(self, harness):
        record = await harness.run(say("It says th", finish_reason="length"))
        assert (record.answer.final_answer, record.answer.finish) == ("It says th", "give_answer")

    @newer
    @pytest.mark.usefixtures("no_waiting")
    @pytest.mark.parametrize(
        ("status", "requests", "error"),
        [
            (429, 3, "OpenAIRateLimitError"),
            (500, 3, "OpenAIAPIError"),
            (400, 1, "OpenAIInvalidRequestError"),
            (401, 1, "OpenAIAuthenticationError"),
            (403, 1, "OpenAIPermissionDeniedError"),
        ],
    )
    async def test_a_refusing_endpoint_is_an_exception_after_openais_retries(self, harness, status, requests, error):
        record = await harness.run(forever(fail(status)))
        assert record.failure.message.startswith(f"{error}: Error code: {status}")
        assert (record.failure.kind, len(record.requests)) == ("agent", requests)

    async def test_a_response_without_choices_is_an_exception(self, harness):
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
        record = await harness.run(Response.text(json.dumps(body)))
        assert record.failure.message == "IndexError: list index out of range"


class TestLimits:
    @newer
    @pytest.mark.long_trial
    async def test_nothing_of_its_own_ends_the_run_soon(self, harness):
        record = await harness.run(*[ask(call("Echo_text", ECHO))] * 60, "done", max_steps=1_000, timeout=120.0)
        assert (record.answer.final_answer, len(record.requests)) == ("done", 61)
