"""Scripted models through whole workers: what a framework claims is what the server saw, policy by policy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from support.warm import warm_command, warm_programs

from trialbed import SYSTEM_PROMPT
from trialbed.records import (
    Api,
    Limits,
    ModelEndpoint,
    Outcome,
    Parameter,
    ScriptedCall,
    ToolSpec,
    TrialKey,
    TrialRegistration,
    TrialSpec,
    WireLog,
)
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = pytest.mark.asyncio(loop_scope="module")

Play = Callable[..., Awaitable[tuple[Outcome, WireLog]]]

FRAMEWORKS = [
    "reference",
    pytest.param(
        "langgraph:controlled",
        marks=pytest.mark.skipif(find_spec("trialbed_langgraph") is None, reason="trialbed-langgraph is not installed"),
    ),
]
MAX_STEPS = 6
QUERY = "What is the weather where the Ångström museum is?"

APIS = (
    Api(
        category="Location",
        tool_name="Geo",
        api_name="find",
        required_parameters=(Parameter(name="name"),),
        template_response={"city": "str", "latitude": "float"},
    ),
    Api(
        category="Weather",
        tool_name="Weather",
        api_name="now",
        required_parameters=(Parameter(name="self"), Parameter(name="config", type="NUMBER")),
        optional_parameters=(Parameter(name="a.b"), Parameter(name="_p"), Parameter(name="units", enum=("C", "F"))),
        template_response={"temperature": "float", "summary": "str"},
    ),
    Api(category="Weather", tool_name="Weather", api_name="stations", template_response={"stations": ["str"]}),
)
WEATHER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "self": {"type": "string"},
        "config": {"type": "number", "exclusiveMinimum": 0},
        "a.b": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
        "_p": {"type": "string", "title": "odd"},
        "units": {"type": "string", "enum": ["C", "F"], "description": "of temperature"},
        "open": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["self", "config"],
}
STATIONS_SCHEMA: dict[str, Any] = {
    "$defs": {"near": {"type": "object", "properties": {"next": {"$ref": "#/$defs/near"}}}},
    "type": "object",
    "properties": {"near": {"$ref": "#/$defs/near"}},
}
TOOLS = (
    ToolSpec(name="Geo_find", description="Find a place.", parameters=APIS[0].parameters_schema(), api=APIS[0].ref),
    ToolSpec(name="Weather_now", description="The weather.", parameters=WEATHER_SCHEMA, api=APIS[1].ref),
    ToolSpec(name="Weather_stations", description="", parameters=STATIONS_SCHEMA, api=APIS[2].ref),
)
GEO = ScriptedCall(name="Geo_find", arguments={"name": "Ångström museum"})
WEATHER = ScriptedCall(name="Weather_now", arguments={"self": "Uppsala", "config": 3, "a.b": "x", "units": "C"})
SCRIPT = (GEO, WEATHER)


@dataclass(frozen=True)
class Right:
    """What is right for a policy: the names of the calls, how the agent ends, and the model's turns."""

    calls: list[str]
    finish: str | None = "give_answer"
    turns: int = 3


RIGHT = {
    "gold": Right(["Geo_find", "Weather_now"]),
    "parallel": Right(["Geo_find", "Weather_now"], turns=2),
    "none": Right([], turns=1),
    "partial": Right(["Geo_find"], turns=2),
    "reordered": Right(["Weather_now", "Geo_find"]),
    "extra": Right(["Geo_find", "Weather_now", "Weather_stations"], turns=4),
    "wrong-args": Right(["Geo_find", "Weather_now"]),
    "bad-json": Right(["Geo_find", "Weather_now"], turns=4),
    "unknown-tool": Right(["Geo_find", "Weather_now"], turns=4),
    "retry": Right(["Geo_find", "Geo_find", "Weather_now"], turns=4),
    "loop": Right(["Geo_find"] * MAX_STEPS, finish=None, turns=MAX_STEPS),
    "slow": Right(["Geo_find", "Weather_now"]),
    "giveup": Right(["Geo_find"], finish="give_up_and_restart", turns=2),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server process."""
    cache = tmp_path_factory.mktemp("server") / "cache.db"
    options = {"port": 0, "cache": str(cache), "watch_stdin": True}
    command = [sys.executable, "-m", "trialbed_server", json.dumps(options)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(warm_command(command), **pipes) as process:
        yield json.loads(process.stdout.readline())["url"]
        process.stdin.close()
        process.wait(60)


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """Nothing to check here: the workers serve all tests of the module."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor() -> AsyncIterator[LocalExecutor]:
    """One pool of workers; frameworks take seconds to import."""
    with warm_programs():
        async with LocalExecutor() as executor:
            yield executor


@pytest.fixture
def play(server: str, executor: LocalExecutor) -> Play:
    """Plays one trial against the server."""
    return partial(_play, server, executor)


async def _play(
    server: str, executor: LocalExecutor, framework: str, policy: str, script=SCRIPT, tools=TOOLS
) -> tuple[Outcome, WireLog]:
    token = uuid4().hex
    model = f"scripted:{policy}"
    registration = TrialRegistration(trial=token, model=model, tools=tools, apis=APIS, script=script)
    endpoint = ModelEndpoint(
        base_url=f"{server}/t/{token}/v1", api_key="dummy", model=model, temperature=0.25, max_tokens=321, seed=77
    )
    spec = TrialSpec(
        trial=token,
        key=TrialKey(framework=framework, query_id=1),
        query=QUERY,
        system_prompt=SYSTEM_PROMPT,
        tools=tools,
        endpoint=endpoint,
        limits=Limits(max_steps=MAX_STEPS, timeout=60),
        server_url=f"{server}/t/{token}/virtual",
    )
    async with httpx.AsyncClient(base_url=server) as control:
        opened = await control.post("/control/trials", json=registration.model_dump(mode="json"))
        assert opened.status_code == 201, opened.text
        outcome = await executor.execute(spec)
        closed = await control.delete(f"/control/trials/{token}")
    return outcome, WireLog.model_validate_json(closed.raise_for_status().content)


@pytest.mark.parametrize("policy", RIGHT)
@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_claimed_observed_and_sent_agree(play, framework, policy):
    outcome, wire = await play(framework, policy)
    assert outcome.answer is not None, outcome.failure
    right = RIGHT[policy]
    claimed = [(call.name, call.arguments) for call in outcome.answer.calls]
    sent = [call for turn in wire.model_calls for call in turn.tool_calls]
    made = [(call.name, json.loads(call.arguments)) for call in sent if call.problem is None]
    if policy == "loop":
        # The last turn's call is sent and executed before the limit stops the next request.
        assert len(wire.model_calls) == MAX_STEPS
    assert [name for name, _ in made] == right.calls
    assert claimed == made
    observed = [(call.api, call.arguments) for call in wire.api_calls]
    names = {tool.name: tool.api for tool in TOOLS}
    expected = [(names[name], arguments) for name, arguments in made]
    order = (lambda pair: str(pair)) if policy == "parallel" else (lambda pair: 0)
    assert sorted(observed, key=order) == sorted(expected, key=order)
    assert outcome.answer.finish == right.finish
    assert outcome.answer.model_turns == len(wire.model_calls) == right.turns
    assert (outcome.answer.final_answer == "") == (right.finish is None)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_model_gets_what_the_rig_asks_for(play, framework):
    outcome, wire = await play(framework, "gold")
    assert outcome.answer is not None, outcome.failure
    for call in wire.model_calls:
        request = json.loads(call.request)
        assert request["tools"] == [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in TOOLS
        ]
        system, user = request["messages"][:2]
        assert (system["role"], system["content"]) == ("system", SYSTEM_PROMPT)
        assert (user["role"], user["content"]) == ("user", QUERY)
        assert (request["temperature"], request["seed"], request["max_tokens"]) == (0.25, 77, 321)
        assert set(request) <= {"model", "messages", "tools", "temperature", "seed", "max_tokens", "stream"}
        assert not call.stream
