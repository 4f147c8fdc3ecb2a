"""What smolagents does by itself: the rows of the table in docs/reference/frameworks.md."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from support.adapters import answered, failure, said

from trialbed_adapter_lab import Harness, tool
from trialbed_scripted import ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("smolagents:native"),
    pytest.mark.skipif(
        tuple(map(int, version("smolagents").split(".")[:2])) < (1, 26), reason="older releases do otherwise"
    ),
]

ECHO = call("Echo_text", {"text": "one"})


async def test_the_first_request_forces_a_call_and_has_a_prompt_of_its_own(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be brief.", seed=7, temperature=0.5, max_tokens=9)
    body = record.requests[0].body
    assert {name: body[name] for name in body if name not in ("model", "tools", "messages")} == {
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 9,
        "tool_choice": "required",
        "stop": ["Observation:", "Calling tools:"],
    }
    assert [function["name"] for function in record.requests[0].functions] == ["Echo_text", "final_answer"]
    (system,) = record.requests[0].said_by("system")
    assert "Be brief." in system
    assert len(system) > 3_000
    assert record.requests[0].said_by("user") == ["New task:\nWhy?"]


async def test_calls_and_results_go_back_as_texts(harness: Harness) -> None:
    record = await harness.run(ECHO, "done")
    answer = answered(record)
    assert (answer.final_answer, answer.finish, answer.model_turns) == ("done", "give_answer", 2)
    assert [(made.name, made.arguments) for made in answer.calls] == [("Echo_text", {"text": "one"})]
    assert record.requests[1].roles == ["system", "user", "assistant", "user"]
    assert record.requests[1].said_by("user")[-1] == 'Observation:\n{"text": "one"}'


async def test_the_result_of_a_call_beside_an_unknown_one_is_lost(harness: Harness) -> None:
    record = await harness.run(ask(ECHO, call("no_such", {})), "done")
    assert ([made.arguments for made in record.calls], said(record)) == ([{"text": "one"}], "done")
    assert "Unknown tool no_such, should be one of: Echo_text, final_answer." in record.requests[1].said_by("user")[-1]
    assert [made.arguments for made in answered(record).calls] == [{"text": "one"}]


@pytest.mark.parametrize("arguments", [{}, {"text": 1}, {"text": "x", "more": 1}, '{"text": ', "[1]"])
async def test_wrong_arguments_are_an_error_for_the_model(harness: Harness, arguments: Any) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert (said(record), record.calls, answered(record).calls) == ("done", (), ())


RENAMED = {"get-weather": "get_weather", "1st": "_1st", "class": "class_", "a-b_c": "a_b_c"}


async def test_tools_whose_names_are_no_identifiers_are_renamed_and_called(harness: Harness) -> None:
    turn = ask(*(call(name, {"text": name}) for name in RENAMED))
    record = await harness.run(turn, "done", tools=[tool(name) for name in RENAMED])
    offered = {function["name"] for function in record.requests[0].functions}
    assert offered == {*RENAMED.values(), "final_answer"}
    assert {made.tool: made.arguments for made in record.calls} == {name: {"text": name} for name in RENAMED}
    claimed = {(claim.name, claim.api and claim.api.tool_name) for claim in answered(record).calls}
    assert claimed == {(name, tool) for tool, name in RENAMED.items()}


async def test_tools_that_become_one_name_cannot_be_offered(harness: Harness) -> None:
    record = await harness.run("done", tools=[tool("get-weather"), tool("get_weather")])
    assert "unique name" in failure(record)
    assert record.requests == ()


async def test_a_response_without_tokens_ends_the_run(harness: Harness) -> None:
    record = await harness.run(say("done", usage=None))
    assert (said(record), len(record.requests)) == ("AgentGenerationError", 1)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(("status", "requests"), [(500, 3), (400, 1), (403, 1)])
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == ("AgentGenerationError", requests)


@pytest.mark.long_trial
async def test_a_model_that_never_stops_has_twenty_turns_and_a_last_word(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=100, timeout=120.0)
    assert (len(record.requests), len(record.calls)) == (21, 20)
    assert "tools" not in record.requests[-1].body
