"""A dialect that is one more module: it is served, played with every policy and fault, recorded, and read back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from support import plain_dialect
from support.servers import TRIAL, Serve, closed, registration

from trialbed.records import WireLog
from trialbed.wire import ChatClient, recorded_answer, recorded_error, recorded_request
from trialbed.wire.dialects import PATHS, dialect
from trialbed_scripted import FAULTS, POLICIES, call, policy, script, serve

FLAWED = {name for name, kind in FAULTS.items() if kind.edits}


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PATHS, plain_dialect.PATH, plain_dialect.NAME)
    monkeypatch.setitem(sys.modules, f"trialbed.wire.dialects.{plain_dialect.NAME}", plain_dialect)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_dialect_of_one_module_is_served_and_recorded(serve: Serve, plain: None, stream: bool) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    tool = registration()["tools"][0]["name"]
    asked = {"model": "scripted:gold", "said": [["user", "Oslo?"]], "may_call": [tool], "stream": stream}
    answer = (await client.post(f"/t/{TRIAL}/v1/plain", json=asked)).json()
    assert answer["call"][0] == tool
    refused = await client.post(f"/t/{TRIAL}/v1/plain", json={})
    assert (refused.status_code, refused.json()) == (400, {"problem": "nothing is said"})
    log = WireLog.model_validate(await closed(client))
    call = log.model_calls[0]
    assert (call.dialect, call.finish_reason, call.tool_calls[0].name) == ("plain_dialect", "tool_calls", tool)
    assert call.usage is not None
    assert call.usage.total_tokens == answer["used"]["total_tokens"]
    request = recorded_request(call)
    assert request is not None
    assert request.messages[0].text == "Oslo?"
    assert recorded_answer(call).answer.calls[0].name == tool


async def test_refusals_before_a_trial_is_known_have_the_form_of_the_dialect(serve: Serve, plain: None) -> None:
    client = await serve(token="a-token-of-16-or-more")
    refused = await client.post("/v1/plain", json={})
    assert (refused.status_code, refused.json().keys()) == (401, {"problem"})
    unknown = await client.post("/t/no-such-trial/v1/plain", json={})
    assert (unknown.status_code, unknown.json().keys()) == (404, {"problem"})


@pytest.mark.parametrize("fault", ["malformed", "empty", "server_error", "rate_limit"])
async def test_the_gateway_puts_faults_into_any_dialect(serve: Serve, plain: None, fault: str) -> None:
    client = await serve()
    plan = {"model": {"rate": 1, "faults": [fault]}}
    await client.post("/control/trials", json=registration(faults=plan, fault_key="1/0"))
    answer = await client.post(f"/t/{TRIAL}/v1/plain", json={"model": "scripted:gold", "said": []})
    assert "choices" not in answer.text
    (call,) = WireLog.model_validate(await closed(client)).model_calls
    assert (call.dialect, call.fault) == ("plain_dialect", fault)
    if fault in ("server_error", "rate_limit"):
        assert recorded_error(call) == answer.json()["problem"]


def ask(url: str, turns: list[list[str]], stream: bool = False) -> httpx.Response:
    asked = {"model": "m", "said": [["user", "Where?"], *turns], "may_call": ["find", "other"], "stream": stream}
    return httpx.post(f"{url}/plain", json=asked)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_played_in_any_dialect(plain: None, name: str) -> None:
    with serve(policy(name, call("find", id=7), call("other"))) as model:
        said = ask(model.url, []).json()
    assert said.keys() == {"text" if name == "none" else "call", "used"}
    assert said["used"]["total_tokens"] > 0


def is_an_error(answer: httpx.Response) -> bool:
    return answer.status_code >= 400 and "problem" in answer.json()


EFFECTS: dict[str, Callable[[httpx.Response], bool]] = {
    "status": is_an_error,
    "echo_key": is_an_error,
    "error_body": lambda answer: answer.json() == {"problem": "the model is overloaded"},
    "empty": lambda answer: not answer.content,
    "html": lambda answer: b"<html>" in answer.content,
    "unknown_tool": lambda answer: answer.json()["call"][0] == "tool_that_was_not_offered",
    "bad_arguments": lambda answer: answer.json()["call"][1] == '{"broken": ',
    "wrong_tool": lambda answer: answer.json()["call"][0] == "other",
    "never_calls": lambda answer: "text" in answer.json(),
    "always_calls": lambda answer: "call" in answer.json(),
    "null_usage": lambda answer: answer.json()["used"]["completion_tokens"] is None,
    "truncated": lambda answer: not answer.content.endswith(b"}"),
    "none": lambda answer: answer.json()["call"][0] == "find",
}


@pytest.mark.parametrize("name", EFFECTS)
def test_faults_are_done_in_any_dialect(plain: None, name: str) -> None:
    with serve(script(call("find", id=7)), faults=name) as model:
        assert EFFECTS[name](ask(model.url, []))


@pytest.mark.parametrize("name", sorted(FLAWED))
def test_a_fault_that_a_dialect_does_not_have_is_refused_in_words(plain: None, name: str) -> None:
    with serve(faults=name) as model:
        answer = ask(model.url, [])
    assert answer.status_code == 501
    assert answer.json()["problem"].startswith(f"plain_dialect has no fault {name!r}, but chat_completions")


def test_requests_are_refused_for_parameters_of_any_dialect(plain: None) -> None:
    with serve(faults="refuses:may_call") as model:
        assert "'may_call' is not supported" in ask(model.url, []).json()["problem"]


async def test_a_client_asks_in_any_dialect(plain: None) -> None:
    spoken: Any = dialect("plain_dialect")
    with serve(script(call("find", id=7))) as model:
        async with ChatClient(model.url, spoken=plain_dialect.NAME) as client:
            reading = await client.complete(spoken.write_request("m", [], {}))
    assert reading.answer.calls[0].name == "find"
