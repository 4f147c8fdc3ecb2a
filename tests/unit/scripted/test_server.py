"""A scripted model behind a server, as anyone's tests use it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, BadRequestError, InternalServerError, OpenAI, RateLimitError

from trialbed.errors import UsageError
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, ask, call, fail, forever, policy, say, script, serve

QUESTION: Any = [{"role": "user", "content": "q"}]
FIND = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
TOOLS: Any = [{"type": "function", "function": {"name": "find", "parameters": FIND}}]


def post(url: str, **fields: Any) -> Any:
    with OpenAI(base_url=url, api_key="-", max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=QUESTION, **fields)


def said(answer: Any) -> Any:
    message = answer.choices[0].message
    return [(one.function.name, one.function.arguments) for one in message.tool_calls or ()] or message.content


def test_a_script_is_said_line_by_line() -> None:
    with serve(script(call("find", id=7), ask(call("a"), call("b", '{"x": ')), "almost", say("done"))) as model:
        assert said(post(model.url, tools=TOOLS)) == [("find", '{"id": 7}')]
        assert said(post(model.url)) == [("a", "{}"), ("b", '{"x": ')]
        assert [said(post(model.url)) for _ in range(3)] == ["almost", "done", "The script has ended."]
        assert model.requests[0].document["tools"] == TOOLS
        assert [request.number for request in model.requests] == list(range(5))


def test_answers_report_usage_and_finish_reasons() -> None:
    with serve(script(say("a"), say("b", usage=None, finish_reason="length"))) as model:
        first, second = post(model.url), post(model.url)
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (11, 3)
    assert (first.choices[0].finish_reason, second.choices[0].finish_reason, second.usage) == ("stop", "length", None)


async def test_a_stream_says_the_same() -> None:
    async with (
        serve(script(ask(call("find", id=7), text="wait"))) as model,
        AsyncOpenAI(base_url=model.url, api_key="-") as client,
    ):
        stream = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        deltas = [chunk.choices[0].delta async for chunk in stream]
    assert "".join(delta.content or "" for delta in deltas) == "wait"
    calls = [piece.function for delta in deltas for piece in delta.tool_calls or () if piece.function]
    assert calls[0].name == "find"
    assert "".join(piece.arguments or "" for piece in calls) == '{"id": 7}'


def test_an_endpoint_may_fail_and_a_last_line_may_stay() -> None:
    with serve(script(fail(429, retry_after=3), forever("again"))) as model:
        with pytest.raises(RateLimitError) as refused:
            post(model.url)
        assert refused.value.response.headers["retry-after"] == "3"
        assert [said(post(model.url)) for _ in range(3)] == ["again"] * 3


def test_a_request_that_met_a_fault_gets_its_line_again() -> None:
    with (
        serve(script("one", "two"), faults="status:503,none") as model,
        OpenAI(base_url=model.url, api_key="-", max_retries=1) as client,
    ):
        found = [
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}]) for text in "ab"
        ]
    assert [answer.choices[0].message.content for answer in found] == ["one", "two"]
    assert model.met == {"status": 2, "none": 2}


def test_a_response_may_follow_another_and_what_vendors_refuse_is_refused() -> None:
    seen: list[tuple[str, ...]] = []

    def model(request: ReceivedRequest) -> ModelTurn:
        seen.append(tuple(message.role for message in request.asked.messages))
        return say("hello")

    with serve(model) as server, OpenAI(base_url=server.url, api_key="-", max_retries=0) as client:
        first = client.responses.create(model="m", input="q")
        client.responses.create(model="m", input="r", previous_response_id=first.id)
        with pytest.raises(BadRequestError, match="'resp_x' not found"):
            client.responses.create(model="m", input="r", previous_response_id="resp_x")
        with pytest.raises(BadRequestError, match="No tool call found"):
            client.responses.create(
                model="m", input=[{"type": "function_call_output", "call_id": "c", "output": "lost"}]
            )
    assert seen == [("user",), ("user", "assistant", "user")]


@pytest.mark.parametrize("line", [5, None, ["text"]])
def test_what_is_no_line_is_refused_when_a_script_is_made(line: Any) -> None:
    for made in (script, forever):
        with pytest.raises(UsageError, match=r"is not a line of a script; a line is a text, call\(…\)"):
            made(line)


@pytest.mark.parametrize("returned", [5, None])
def test_a_function_that_returns_no_line_is_named_to_the_client(returned: Any) -> None:
    def slip(request: ReceivedRequest) -> Any:
        return returned

    for model in (slip, script(slip)):
        with (
            serve(model) as server,
            pytest.raises(InternalServerError, match=r"slip\(\) of the script returned no line"),
        ):
            post(server.url)


def test_a_policy_plays_over_known_calls() -> None:
    with serve(policy("wrong-args", call("find", id=7))) as model:
        assert said(post(model.url, tools=TOOLS)) == [("find", "{}")]
    with serve(policy("gold", call("find", id=7))) as model:
        answer = post(model.url, tools=TOOLS)
        assert said(answer) == [("find", '{"id": 7}')]
        assert answer.usage.completion_tokens > 10
    with pytest.raises(UsageError, match="there is no policy 'golden'"):
        policy("golden")
    with pytest.raises(UsageError, match="find are not a JSON object"):
        policy("gold", call("find", "["))


def test_a_served_policy_is_as_strict_as_that_of_a_run_and_keeps_responses() -> None:
    tools: Any = [{"type": "function", "name": "find", "parameters": FIND, "strict": False}]
    with (
        serve(policy("gold", call("find", id=7))) as model,
        OpenAI(base_url=model.url, api_key="-", max_retries=0) as client,
    ):
        first = client.responses.create(model="m", input="q", tools=tools)
        made: Any = first.output[0]
        output: Any = {"type": "function_call_output", "call_id": made.call_id, "output": '{"place": "kxqzvv"}'}
        second = client.responses.create(model="m", input=[output], tools=tools, previous_response_id=first.id)
        assert second.output_text == "Here is what I found: kxqzvv."
        with pytest.raises(BadRequestError, match="not found"):
            client.responses.create(model="m", input=[output], tools=tools, previous_response_id="resp_other")
        with pytest.raises(BadRequestError, match="No tool call found"):
            client.responses.create(model="m", input=[output], tools=tools)


def test_without_a_model_any_request_is_answered_rightly() -> None:
    with serve() as model:
        assert said(post(model.url, tools=TOOLS, tool_choice="required")) == [("find", '{"id": 1}')]


def test_bytes_reach_the_socket_as_they_are() -> None:
    with serve(script(Response.raw(b"HTTP/1.1 218 Fine\r\nContent-Length: 2\r\n\r\nok"))) as model:
        found = httpx.post(f"{model.url}/chat/completions", json={})
        assert (found.status_code, found.text) == (218, "ok")


def test_a_request_that_is_none_is_refused() -> None:
    with serve() as model:
        for body, reason in ((b"{", "not JSON"), (b"[]", "must be a JSON object")):
            refused = httpx.post(f"{model.url}/chat/completions", content=body)
            assert refused.status_code == 400
            assert reason in refused.json()["error"]["message"]
