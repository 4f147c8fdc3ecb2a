"""Tests of the native profile: what users of CrewAI get, as its own documentation has them write an agent."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import openai
import pytest
from packaging.version import Version

from trialbed import UsageError
from trialbed_adapter_kit import Barrier, Call, Harness, Raw, Reply, TrialRecord, asks, call, fails, forever, tool
from trialbed_adapter_kit.harness import Gate, new_tasks, settled

pytestmark = [
    pytest.mark.framework("crewai:native"),
    pytest.mark.skipif(Version(version("crewai")) < Version("1.15.30"), reason="older releases do otherwise"),
]

ECHO = call("echo_text", {"text": "one"})
LAST = "you MUST give your absolute best final answer"
REFUSED = "the limit of 3 requests is reached"
OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "title": "City", "examples": ["Rome"]},
        "days": {"type": "integer", "minimum": 1, "default": 3},
        "place": {"type": "object", "properties": {"zip": {"type": "string"}, "area": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["city"],
}
NULLABLE_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
PLACE = {"type": "object", "properties": {"zip": NULLABLE_TEXT, "area": NULLABLE_TEXT}}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "place": {"anyOf": [{**PLACE, "required": ["zip", "area"], "additionalProperties": False}, {"type": "null"}]},
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "map": {
            "anyOf": [
                {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
                {"type": "null"},
            ]
        },
    },
    "required": ["city", "days", "place", "tags", "map"],
    "additionalProperties": False,
}


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without waiting; how many there are stays as it is."""
    monkeypatch.setattr(openai.OpenAI, "_calculate_retry_timeout", lambda *_, **__: 0.0)
    monkeypatch.setattr("crewai.llms.retry._LLM_RATE_LIMIT_MAX_DELAY_SECONDS", 0.0)


def said(record: TrialRecord) -> str:
    """The answer, or the type of the exception that ended the run."""
    if record.answer is not None:
        return record.answer.final_answer
    assert record.failure is not None
    return record.failure.message.partition(":")[0]


def failure(record: TrialRecord) -> str:
    assert record.failure is not None, record.answer
    return record.failure.message


def results(record: TrialRecord) -> list[str]:
    return [text for _, text in record.requests[-1].results]


def refusal(status: int, text: str = REFUSED) -> Raw:
    error = {"message": text, "type": "invalid_request_error", "code": None, "param": None}
    return Raw(status, json.dumps({"error": error}))


async def test_the_first_request_has_crewais_prompt_around_the_task(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be brief.", max_tokens=9, seed=7, temperature=0.5)
    frame = "You are Assistant. Be brief.\nYour personal goal is: Answer the user's question"
    assert record.requests[0].body == {
        "model": "harness-model",
        "messages": [{"role": "system", "content": frame}, {"role": "user", "content": "\nCurrent Task: Why?"}],
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 9,
        "tool_choice": "auto",
        "tools": [{"type": "function", "function": record.requests[0].functions[0]}],
    }
    assert record.requests[0].functions[0]["strict"] is True


async def test_sampling_that_is_not_given_is_left_to_crewai(harness: Harness) -> None:
    record = await harness.run("done", temperature=None)
    assert set(record.requests[0].body) == {"model", "messages", "seed", "tool_choice", "tools"}


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("Get-Weather", "get_weather"),
        ("getHTTPResponse", "get_http_response"),
        ("two__lines", "two_lines"),
        ("_x_", "x"),
    ],
)
async def test_tools_are_renamed_and_called_by_their_new_names(harness: Harness, name: str, offered: str) -> None:
    record = await harness.run(asks(call(offered, {"text": "x"})), "done", tools=(tool(name),))
    assert [entry["name"] for entry in record.requests[0].functions] == [offered]
    assert [made.tool for made in record.calls] == [name]
    assert record.answer is not None
    assert [made.api.tool_name for made in record.answer.calls if made.api] == [name]


async def test_the_second_tool_of_one_name_gets_a_number(harness: Harness) -> None:
    names, offered = ["Get-Text", "Get_Text", "getText"], ["get_text", "get_text_2", "get_text_3"]
    turn = asks(*[call(name, {"text": name}) for name in offered])
    record = await harness.run(turn, "done", tools=[tool(name) for name in names])
    assert [entry["name"] for entry in record.requests[0].functions] == offered
    assert {made.tool: made.arguments["text"] for made in record.calls} == dict(zip(names, offered, strict=True))
    assert record.answer is not None
    assert [made.api.tool_name for made in record.answer.calls if made.api] == names


@pytest.mark.parametrize("name", ["9lives", "---"])
async def test_a_tool_without_a_usable_name_fails_the_trial_before_its_first_request(
    harness: Harness, name: str
) -> None:
    record = await harness.run("done", tools=(tool(name),))
    assert (said(record), record.requests) == ("ValueError", ())


@pytest.mark.parametrize(
    ("properties", "seen"),
    [
        ({"_x": {"type": "string"}}, "NameError"),
        ({"__class__": {"type": "string"}}, "NameError"),
        ({"model_dump": {"type": "string"}}, "ValidationError"),
        ({"any": True}, "AttributeError"),
    ],
)
async def test_a_tool_that_cannot_be_made_fails_the_trial_before_its_first_request(
    harness: Harness, properties: dict[str, Any], seen: str
) -> None:
    record = await harness.run("done", tools=(tool(parameters={"type": "object", "properties": properties}),))
    assert (said(record), record.requests) == (seen, ())


async def test_a_parameter_named_self_is_offered_and_cannot_be_given(harness: Harness) -> None:
    schema = {"type": "object", "properties": {"self": {"type": "string"}}, "required": ["self"]}
    record = await harness.run(asks(call("echo_text", {"self": "x"})), "done", tools=(tool(parameters=schema),))
    assert (said(record), record.calls) == ("done", ())
    assert "got multiple values for argument 'self'" in results(record)[0]
    assert record.answer is not None
    assert record.answer.calls == ()


async def test_every_schema_is_strict(harness: Harness) -> None:
    record = await harness.run("done", tools=(tool(parameters=OPTIONAL),))
    assert record.requests[0].functions[0]["parameters"] == STRICT


async def test_nulls_for_optional_parameters_are_not_sent_and_defaults_are(harness: Harness) -> None:
    nulls = {"city": "Rome", "days": None, "place": {"zip": "1", "area": None}, "tags": None, "map": None}
    turn = asks(call("echo_text", nulls), call("echo_text", {"city": "Rome", "map": {"a": 1.5}}))
    record = await harness.run(turn, "done", tools=(tool(parameters=OPTIONAL),))
    sent = sorted((made.arguments for made in record.calls), key=len)
    assert sent == [{"city": "Rome", "place": {"zip": "1"}}, {"city": "Rome", "days": 3, "map": {"a": 1.5}}]
    assert record.answer is not None
    assert [made.arguments for made in record.answer.calls] == [sent[0], {"city": "Rome", "map": {"a": 1.5}}]


async def test_values_are_converted_to_the_types_of_the_schema(harness: Harness) -> None:
    properties = {"n": {"type": "integer"}, "when": {"type": "string", "format": "date"}, "at": {"format": "uri"}}
    properties["at"]["type"] = "string"
    record = await harness.run(
        asks(call("echo_text", {"n": "3", "when": "2026-01-02", "at": "http://a.b"})),
        "done",
        tools=(tool(parameters={"type": "object", "properties": properties, "required": [*properties]}),),
    )
    assert [made.arguments for made in record.calls] == [{"n": 3, "when": "2026-01-02", "at": "http://a.b/"}]


async def test_an_answer_costs_one_request_and_a_call_one_more(harness: Harness) -> None:
    record = await harness.run(asks(ECHO, text="Let me see."), "done")
    assert record.answer is not None
    assert (record.answer.final_answer, record.answer.finish, record.answer.model_turns) == ("done", "give_answer", 2)
    assert [(made.name, made.arguments, made.response) for made in record.answer.calls] == [
        ("echo_text", {"text": "one"}, '{"text": "one"}')
    ]
    assert record.answer.usage is not None
    assert record.answer.usage.total_tokens == 28
    assert len(record.requests) == 2
    assert "Let me see." not in json.dumps(record.requests[1].body)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (call("no_such"), "Tool not found"),
        (call("echo_text", '{"text": '), "Error: Failed to parse tool arguments as JSON"),
        (call("echo_text", ""), "Error: Failed to parse tool arguments as JSON"),
        (call("echo_text", {"text": 1}), "Error executing tool: Tool 'Echo_text' arguments validation failed"),
        (call("echo_text", {}), "Error executing tool: Tool 'Echo_text' arguments validation failed"),
        (
            call("echo_text", {"text": "x", "more": 1}),
            "Error executing tool: Tool 'Echo_text' arguments validation failed",
        ),
    ],
    ids=["unknown tool", "cut off", "empty", "wrong type", "missing", "extra"],
)
async def test_a_model_that_errs_is_told(harness: Harness, wanted: Call, told: str) -> None:
    record = await harness.run(asks(wanted, ECHO), "done")
    assert (said(record), len(record.calls)) == ("done", 1)
    assert results(record)[0].startswith(told)
    assert record.answer is not None
    assert [made.arguments for made in record.answer.calls if made.api] == [{"text": "one"}]


async def test_a_tool_is_found_by_any_name_that_becomes_its_own(harness: Harness) -> None:
    record = await harness.run(asks(call("Echo-Text", {"text": "x"})), "done")
    assert [made.arguments for made in record.calls] == [{"text": "x"}]


async def test_arguments_that_are_a_list_end_the_run(harness: Harness) -> None:
    record = await harness.run(asks(call("echo_text", "[1]")), "done")
    assert (said(record), len(record.requests)) == ("ValidationError", 1)
    assert "ToolUsageStartedEvent" in failure(record)


async def test_a_list_beside_another_call_is_told(harness: Harness) -> None:
    record = await harness.run(asks(call("echo_text", "[1]"), ECHO), "done")
    assert (said(record), [made.arguments for made in record.calls]) == ("done", [{"text": "one"}])
    assert results(record)[0].startswith("Error executing tool")


async def test_null_stands_for_no_arguments(harness: Harness) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    record = await harness.run(asks(call("echo_text", "null")), "done", tools=(tool(parameters=schema),))
    assert (said(record), [made.arguments for made in record.calls]) == ("done", [{}])


async def test_a_tool_that_raises_is_told(monkeypatch: pytest.MonkeyPatch, harness: Harness) -> None:
    def explode(*_: object) -> str:
        raise RuntimeError("backend exploded")

    monkeypatch.setattr("trialbed.Tool.invoke", explode)
    record = await harness.run(asks(ECHO), "done")
    assert (said(record), results(record)) == ("done", ["Error executing tool: backend exploded"])


@pytest.mark.parametrize(("calls", "met"), [(8, True), (9, False)])
async def test_eight_calls_run_at_the_same_time_and_not_nine(harness: Harness, calls: int, met: bool) -> None:
    barrier = Barrier(calls, timeout=1.0)
    turn = asks(*[call("echo_text", {"text": str(number)}) for number in range(calls)])
    record = await harness.run(turn, "done", tools=(tool(behave=barrier.tool()),))
    assert (len(record.calls), barrier.all_arrived) == (calls, met)
    assert [made for made, _ in record.requests[1].results] == [f"call_0_{number}" for number in range(calls)]


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (Reply(""), "ValueError"),
        (Reply(None), "ValueError"),
        (Reply("cut", reason="length"), "cut"),
        (Reply("42\nObservation: so it is"), "42"),
    ],
)
async def test_an_odd_end(harness: Harness, reply: Reply, seen: str) -> None:
    record = await harness.run(reply, "done")
    assert (said(record), len(record.requests)) == (seen, 1)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("status", [429, 500])
async def test_a_request_that_fails_once_is_repeated(harness: Harness, status: int) -> None:
    record = await harness.run(asks(ECHO), fails(status), "done")
    assert (said(record), len(record.requests)) == ("done", 3)
    assert record.requests[1].body == record.requests[2].body


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("status", "requests", "seen"),
    [
        (429, 9, "RateLimitError"),
        (500, 3, "InternalServerError"),
        (400, 1, "BadRequestError"),
        (401, 1, "AuthenticationError"),
        (404, 1, "ValueError"),
    ],
)
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int, seen: str) -> None:
    record = await harness.run(forever(fails(status)))
    assert (said(record), len(record.requests)) == (seen, requests)


async def test_a_context_that_is_too_long_is_summarised(harness: Harness) -> None:
    refused = refusal(400, "This model's maximum context length is 10 tokens")
    record = await harness.run(asks(ECHO), refused, "a summary", "done")
    assert said(record) == "done", record.failure
    assert ["tools" in request.body for request in record.requests] == [True, True, False, True]


async def test_the_fifth_call_with_the_same_arguments_and_result_ends_the_run(harness: Harness) -> None:
    record = await harness.run(forever(asks(ECHO)), max_steps=30)
    assert (said(record), len(record.requests), len(record.calls)) == ("ToolExecutionFailedError", 5, 5)


@pytest.mark.parametrize(
    ("turn", "requests"), [([call("no_such")], 5), ([ECHO] * 5, 1)], ids=["unknown tool", "five in one turn"]
)
async def test_what_counts_as_the_same_call(harness: Harness, turn: list[Call], requests: int) -> None:
    record = await harness.run(forever(asks(*turn)), max_steps=30)
    assert (said(record), len(record.requests)) == ("ToolExecutionFailedError", requests)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
async def test_a_call_in_place_of_the_last_answer_is_the_answer_as_text(harness: Harness) -> None:
    turns = [asks(call("echo_text", {"text": str(number)})) for number in range(26)]
    record = await harness.run(*turns, max_steps=30)
    assert said(record).startswith("[ChatCompletionMessageFunctionToolCall(id=")
    assert len(record.calls) == 25


async def test_a_model_that_never_stops_is_asked_once_more_without_tools(harness: Harness) -> None:
    turns = [asks(call("echo_text", {"text": str(number)})) for number in range(25)]
    record = await harness.run(*turns, "my best", max_steps=30)
    assert (said(record), len(record.calls)) == ("my best", 25)
    assert [request.number for request in record.requests if "tools" not in request.body] == [25]
    assert LAST in record.requests[25].messages[-1]["content"]


@pytest.mark.parametrize(("status", "seen"), [(400, "BadRequestError"), (403, "PermissionDeniedError")])
async def test_the_refusal_at_a_limit_ends_the_run(harness: Harness, status: int, seen: str) -> None:
    turns = [asks(call("echo_text", {"text": str(number)})) for number in range(3)]
    record = await harness.run(*turns, forever(refusal(status)))
    assert (said(record), len(record.requests)) == (seen, 4)
    assert REFUSED in failure(record)


@pytest.mark.usefixtures("no_waiting")
async def test_a_refusal_that_speaks_of_a_rate_limit_is_repeated(harness: Harness) -> None:
    record = await harness.run(forever(refusal(400, "the rate limit is reached")))
    assert (said(record), len(record.requests)) == ("BadRequestError", 3)


async def test_a_refusal_that_speaks_of_tools_makes_crewai_describe_them_in_text(harness: Harness) -> None:
    record = await harness.run(refusal(400, "this model does not support tools"), "Thought: so\nFinal Answer: done")
    assert (said(record), ["tools" in request.body for request in record.requests]) == ("done", [True, False])


@pytest.mark.parametrize(("model", "offered"), [("gpt-4o", True), ("solo1", False)])
async def test_the_models_name_decides_whether_tools_are_offered(harness: Harness, model: str, offered: bool) -> None:
    record = await harness.run("done", model=model)
    assert ("tools" in record.requests[0].body) is offered


@pytest.mark.parametrize("model", ["gpt-4o", "harness-model"])
async def test_the_models_name_decides_what_becomes_of_a_long_result(harness: Harness, model: str) -> None:
    long = {"text": "x" * 7000}
    record = await harness.run(asks(call("echo_text", long)), "done", model=model)
    names = [entry["name"] for entry in record.requests[1].functions]
    assert ("read_a_deferred_tool_result" in names) is (model != "gpt-4o")


async def test_a_cancelled_trial_asks_the_model_no_more(harness: Harness) -> None:
    gate = Gate()
    prepared = harness.prepare(asks(ECHO), "done", tools=(tool(behave=gate.tool()),))
    trial = asyncio.create_task(prepared.run())
    assert await gate.reached.wait(10)
    trial.cancel()
    await asyncio.wait([trial])
    gate.open()
    assert await new_tasks([]) == []
    assert len(prepared.requests) == 1


async def test_connections_are_closed(harness: Harness) -> None:
    trial = harness.prepare(asks(ECHO), "done")
    await trial.run()
    assert await settled(lambda: trial.open_connections == 0)


async def test_nothing_but_the_endpoint_is_contacted(harness: Harness) -> None:
    await harness.run(asks(ECHO), "done")
    assert (harness.contacts(), harness.strays) == ([], ())


def test_an_older_crewai_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from trialbed_crewai import native

    monkeypatch.setattr(native, "version", lambda _: "1.15.2")
    with pytest.raises(UsageError, match=r"needs crewai 1\.15\.3 or newer, and 1\.15\.2 is installed"):
        native.NativeAgent.framework_version()


@pytest.mark.parametrize(("one", "other"), [("native", "controlled"), ("controlled", "native")])
def test_a_profile_does_not_import_the_other(one: str, other: str) -> None:
    code = f"import sys, trialbed_crewai.{one}; print([m for m in sys.modules if 'trialbed_crewai.{other}' in m])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
