"""Live tools: MCP servers and HTTP requests whose answers are kept and given again."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from support.cases import for_each
from support.live_tools import ADD, FAIL, IMAGE, KEY, LIST, SERVER, VARIABLE, Trial, starts, written
from support.servers import listening

from trialbed.contracts import ApiRefused, Dataset
from trialbed.engine import open_dataset
from trialbed.errors import DataError, UsageError
from trialbed.tasks import AnsweredApi
from trialbed.wire.redaction import Redaction
from trialbed_tools._http import request_parts
from trialbed_tools._kept import KeptAnswer
from trialbed_tools._live import LiveBody, ToolsUnreachable, TrialCalls
from trialbed_tools._rpc import tool_answer
from trialbed_tools._writing import write_tools
from trialbed_tools.forms import RequestForm, ServerForm
from trialbed_tools.servers import list_server
from trialbed_tools.worlds import open_world


async def test_each_trial_has_a_server_of_its_own_and_the_same_calls_are_answered_from_the_file(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path))
    assert await trial.call(ADD, item="lamp") == "1 items"
    first = await trial.call(LIST)
    assert first["items"] == ["lamp"]
    await trial.end()
    trial.begin()
    # Neither call reaches a server; the third does, once it is in the same state.
    assert await trial.call(ADD, item="lamp") == "1 items"
    assert await trial.call(LIST) == first
    assert starts(tmp_path) == 1
    assert await trial.call(ADD, item="chair") == "2 items"
    assert (await trial.call(LIST))["items"] == ["lamp", "chair"]
    assert starts(tmp_path) == 2
    await trial.end()
    trial.begin()
    assert (await trial.call(LIST))["items"] == []
    await trial.end()


async def test_kept_answers_are_given_without_the_server(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path))
    await trial.call(ADD, item="lamp")
    with pytest.raises(ApiRefused, match="it failed"):
        await trial.call(FAIL)
    await trial.end()
    trial = Trial(written(tmp_path, answers="recorded"))
    assert await trial.call(ADD, item="lamp") == "1 items"
    with pytest.raises(ApiRefused, match="it failed"):
        await trial.call(FAIL)
    with pytest.raises(ApiRefused, match="no answer to this call is recorded"):
        await trial.call(LIST)
    await trial.end()
    assert starts(tmp_path) == 1


async def test_trials_share_a_server_whose_calls_change_nothing(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, state=False))
    await trial.call(LIST)
    await trial.end()
    trial.begin()
    assert await trial.call(VARIABLE, name="HOME")
    assert starts(tmp_path) == 1
    await trial.end_run()


async def test_a_server_has_few_variables_and_its_keys_are_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", KEY[::-1])
    monkeypatch.setenv("SHOP_KEY", KEY)
    own = {"SHOP_KEY": "${SHOP_KEY}", "PLACE": "${TRIAL_FOLDER}/cart"}
    trial = Trial(written(tmp_path, environment=own))
    assert (await trial.call(VARIABLE, name="OTHER_TOKEN"))["value"] is None
    assert KEY not in str(await trial.call(VARIABLE, name="SHOP_KEY"))
    place = await trial.call(VARIABLE, name="PLACE")
    assert Path(place["value"]).parent.is_dir()
    assert place["folder"] == str(tmp_path)
    await trial.end()
    assert not Path(place["value"]).parent.exists()
    assert KEY not in (tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8")
    monkeypatch.delenv("SHOP_KEY")
    with pytest.raises(DataError, match=r"shop\.yaml:1: answers: mcp\.environment: the variable SHOP_KEY is not set"):
        open_world(tmp_path / "shop.yaml")


async def test_what_a_server_says_beside_its_answers_is_left(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "talks"))
    assert await trial.call(ADD, item="lamp") == "1 items"
    assert await trial.call(IMAGE) == [{"type": "image", "mimeType": "image/png", "base64_characters": 4}, "hi"]
    with pytest.raises(ApiRefused, match="no such tool"):
        await trial.call("other")
    await trial.end()


HABITS = {
    "floods": "sends a line of more than 4,194,304 bytes",
    "eats": "the server has ended: it used more than 100 MiB",
    "ends": "the server has ended; it wrote: no more of [redacted]",
    "errs": "the server answers with an error: broken",
    "refuses": "the server refuses to begin: ",
}


@pytest.mark.parametrize("habit", HABITS)
async def test_a_server_that_fails_is_no_fault_of_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, habit: str
) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    path = written(tmp_path, habit, memory=100, environment={"SHOP_KEY": "${SHOP_KEY}"})
    trial = Trial(path)
    with pytest.raises(ToolsUnreachable) as raised:
        await trial.call(LIST)
    assert HABITS[habit] in str(raised.value)
    assert KEY not in str(raised.value)
    await trial.end()
    assert not (tmp_path / "shop.answers.jsonl").exists()


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, command="./nowhere --now")
    with pytest.raises(ToolsUnreachable, match=r"\./nowhere --now: cannot be started: "):
        await Trial(path).call(LIST)


def test_a_server_lists_its_tools(tmp_path: Path) -> None:
    form = ServerForm(command=f"{sys.executable} -I {SERVER}")
    found = list_server(form, tmp_path, {}, Redaction(()))
    assert [tool["name"] for tool in found.value["tools"]] == ["cart.add", "list", "variable", "fail", "image"]
    with pytest.raises(ToolsUnreachable, match=r"true: the server has ended"):
        list_server(ServerForm(command="true"), tmp_path, {}, Redaction(()))
    with pytest.raises(ToolsUnreachable, match=r"the server refuses to begin: .*\[redacted\]"):
        list_server(ServerForm(command=f"{sys.executable} -I {SERVER} refuses"), tmp_path, {}, Redaction(["not today"]))


@pytest.fixture
async def shop() -> AsyncIterator[str]:
    """An API, and an MCP server, over HTTP."""

    async def api(request: Request) -> Response:
        status = int(request.query_params.get("status", 200))
        if status != 200:
            return PlainTextResponse(f"no: {request.headers.get('x-key')}", status)
        seen = {"path": request.url.path, "query": request.url.query, "key": request.headers.get("x-key")}
        return JSONResponse(seen)

    async def mcp(request: Request) -> Response:
        asked = await request.json()
        if "id" not in asked:
            return Response(status_code=202)
        if asked["method"] == "initialize":
            result: Any = {"protocolVersion": "2025-03-26"}
            return JSONResponse(
                {"jsonrpc": "2.0", "id": asked["id"], "result": result}, headers={"mcp-session-id": "s1"}
            )
        headers = [request.headers.get(name) for name in ("mcp-session-id", "mcp-protocol-version")]
        result = {"structuredContent": headers}
        events = [
            {"jsonrpc": "2.0", "method": "notifications/message"},
            {"jsonrpc": "2.0", "id": asked["id"], "result": result},
        ]
        body = "".join(f"event: message\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)
        return Response(body, media_type="text/event-stream")

    routes = [Route("/v1/{rest:path}", api), Route("/mcp", mcp, methods=["POST", "DELETE"])]
    async with listening(Starlette(routes=routes)) as url:
        yield url


def http_file(folder: Path, url: str, answers: str = "live", **fields: Any) -> Path:
    path = folder / "shop.yaml"
    request = {"path": "/orders/{id}", "query": ["status", "fields"]}
    tools = [
        {"function": {"name": "find"}, "request": request},
        {"function": {"name": "refund"}, "request": {"path": "/refunds", "method": "POST", "body": "json"}},
    ]
    headers = {"X-Key": "Bearer ${SHOP_KEY}"}
    write_tools({"answers": answers, "url": f"{url}/v1", "headers": headers, "tools": tools, **fields}, path)
    return path


async def test_calls_of_an_api_pass_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: str) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    trial = Trial(http_file(tmp_path, shop))
    # What changes something is not done for real unless the file says so.
    assert set(trial.bodies) == {"find"}
    found = await trial.call("find", id="a/b", fields=["x", "y"])
    assert (found["path"], found["query"]) == ("/v1/orders/a/b", "fields=x&fields=y")
    assert found["key"].startswith("Bearer ")
    assert KEY not in json.dumps(found)
    for status in (404, 422):
        with pytest.raises(ApiRefused, match=rf"status {status}: no: Bearer"):
            await trial.call("find", id=7, status=status)
    for status in (302, 401, 429, 500):
        with pytest.raises(ToolsUnreachable, match=f"status {status}"):
            await trial.call("find", id=7, status=status)
    await trial.end_run()
    kept = (tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8")
    assert len(kept.splitlines()) == 3
    assert KEY not in kept
    monkeypatch.delenv("SHOP_KEY")
    trial = Trial(http_file(tmp_path, "http://127.0.0.1:1", "recorded"))
    assert await trial.call("find", id="a/b", fields=["x", "y"]) == found


async def test_failures_of_live_tools_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: str) -> None:
    # Nothing but the file says that this is a key, and it ends as a file's content does.
    monkeypatch.setenv("SHOP_LOGIN", f"{KEY}\n")
    headers = {"X-Key": "Bearer ${SHOP_LOGIN}"}
    trial = Trial(http_file(tmp_path, shop, headers=headers))
    with pytest.raises(ToolsUnreachable) as raised:
        await trial.call("find", id=7, status=500)
    assert "status 500: no: Bearer " in str(raised.value)
    assert KEY not in "".join(traceback.format_exception(raised.value))
    await trial.end_run()
    monkeypatch.setenv("SHOP_LOGIN", f"{KEY}\nmore")
    with pytest.raises(DataError, match=r"headers\.X-Key: a header is one line in ASCII"):
        open_world(http_file(tmp_path, shop, headers=headers))


async def test_a_server_at_a_url_answers_in_documents_and_in_events(tmp_path: Path, shop: str) -> None:
    trial = Trial(written(tmp_path, command=None, url=f"{shop}/mcp"))
    assert await trial.call(LIST) == ["s1", "2025-03-26"]
    await trial.end()


REQUESTS: list[tuple[dict[str, Any], dict[str, Any], Any]] = [
    ({"path": "/a/{id}"}, {"id": 7}, {"url": "/a/7"}),
    ({"path": "/a/{id}"}, {"id": "../x?y"}, {"url": "/a/..%2Fx%3Fy"}),
    ({"path": "/a/{id}"}, {"id": ".."}, "id: must not be empty"),
    ({"path": "/a/{id}"}, {}, "id: must not be empty"),
    ({"path": "http://other/a"}, {}, {"url": "http://other/a"}),
    (
        {"path": "/", "query": ["a", "b", "c"], "commas": ["b"]},
        {"a": {"x": 1}, "b": [1, 2], "c": True},
        {"params": [("x", "1"), ("b", "1,2"), ("c", "true")]},
    ),
    ({"path": "/", "headers": ["X-A"]}, {"X-A": "b"}, {"headers": {"X-A": "b"}}),
    ({"path": "/", "headers": ["X-A"]}, {"X-A": "b\r\nc: d"}, "a header is one line in ASCII"),
    ({"path": "/{a}", "body": "json"}, {"a": 1, "b": None}, {"json": {"b": None}}),
    ({"path": "/", "body": "json", "whole_body": "b"}, {"b": [1]}, {"json": [1]}),
    ({"path": "/", "body": "json", "whole_body": "b"}, {}, {}),
    ({"path": "/", "body": "form"}, {"a": 1, "b": ["c", "d"]}, {"data": {"a": ["1"], "b": ["c", "d"]}}),
]


@for_each(("form", "arguments", "parts"), REQUESTS)
def test_a_call_is_a_request(form: dict[str, Any], arguments: dict[str, Any], parts: Any) -> None:
    found = request_parts(RequestForm.model_validate(form), arguments, "")
    expected = parts if isinstance(parts, str) else {"method": "GET", "url": "/", "headers": {}, **parts}
    if isinstance(parts, dict) and "url" not in parts:
        expected["url"] = form["path"].replace("{a}", "1")
    assert found == expected


@for_each(
    ("result", "answer"),
    [
        ({"content": [{"type": "text", "text": '{"a": 1}'}]}, KeptAnswer({"a": 1})),
        ({"content": []}, KeptAnswer([])),
        ({"content": "x"}, KeptAnswer([])),
        ({"isError": True}, KeptAnswer(error="the tool failed")),
        ({"structuredContent": {}}, KeptAnswer({})),
        (
            {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": "aGk=", "x": 1}}]},
            KeptAnswer({"type": "resource", "uri": "a:b", "base64_characters": 4}),
        ),
    ],
)
def test_a_result_is_an_answer(result: dict[str, Any], answer: KeptAnswer) -> None:
    assert tool_answer(result) == answer


FAULTS = [
    ("answers: live", "shop.yaml:1: answers: live needs mcp, or a url and tools with a request"),
    ("answers: recorded", "recorded needs mcp, or a url and tools with a request"),
    ("mcp: {}", "shop.yaml:1: mcp: value error, give a command or a url"),
    ("mcp: {command: a, url: 'http://b'}", "mcp: value error, give a command or a url"),
    ("mcp: {url: b}", "shop.yaml:1: mcp.url: string should match pattern"),
    ("mcp: {command: a, memory: 1}", "mcp.memory: input should be greater"),
    ("mcp: {command: a, environment: [B]}", "mcp.environment: input should be a valid dict"),
    ("{answers: live, mcp: {command: a, environment: {KEY: b}}", "mcp.environment.KEY: keys do not stand in files"),
    (
        "{answers: live, url: 'http://a', headers: {Cookie: b}",
        "headers.Cookie: keys do not stand in files; write ${NAME}",
    ),
    ("{answers: live, url: 'http://a', headers: {A: '${NO_SUCH_1}'}", "headers: the variable NO_SUCH_1 is not set"),
]


@for_each(("text", "says"), FAULTS)
def test_a_fault_of_a_live_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    tools = "tools: [{function: {name: a}, request: {path: /}}]"
    path = tmp_path / "shop.yaml"
    path.write_text(f"{text}, {tools}}}" if text.startswith("{") else f"{text}\n{tools}", encoding="utf-8")
    if "needs" in says:
        path.write_text(f"{text}\ntools: [function: {{name: a}}]", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        open_world(path)
    assert says in str(raised.value)


def test_versions_of_live_tools_differ(tmp_path: Path) -> None:
    def source(**mcp: Any) -> str:
        world = open_world(written(tmp_path, answers="recorded", **mcp))
        (body, *_) = [tool.body for tool in world.tools if isinstance(tool, AnsweredApi)]
        assert isinstance(body, LiveBody)
        assert isinstance(body.make_owner(None), TrialCalls)
        return body.source()

    first = source()
    assert first == source()
    assert first != source(state=False)
    (tmp_path / "shop.answers.jsonl").write_text('{"tool": "a", "arguments": {}, "response": 1}\n', encoding="utf-8")
    assert first != source()


def test_the_tools_of_a_server_are_kept_beside_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text("tasks: [{query: Add it., tools: [cart_add]}]", encoding="utf-8")
    command = f"{sys.executable} -I {SERVER}"

    def opened(address: str = command, answers: str | None = None) -> Dataset:
        return open_dataset(str(tmp_path / "desk.yaml"), tmp_path, [address], answers)

    first, second = opened(), opened()
    assert starts(tmp_path) == 1
    assert first.digest() == second.digest()
    assert [ref.api_name for ref in second.functions] == ["cart_add", "list", "variable", "fail", "image"]
    assert {path.name for path in second.files} == {"desk.yaml", "desk.mcp.yaml", "desk.mcp.answers.jsonl"}
    assert {body.provenance for body in opened(answers="recorded").functions.values()} == {"recorded"}
    assert not opened(answers="schema").functions
    assert opened(answers="model").simulator == "llm"
    with pytest.raises(UsageError, match=r"desk\.mcp\.yaml has the tools of another server: remove it"):
        opened("true")
    (tmp_path / "desk.mcp.yaml").unlink()
    with pytest.raises(ToolsUnreachable, match="true: the server has ended"):
        opened("true")
    assert not (tmp_path / "desk.mcp.yaml").exists()
    with pytest.raises(UsageError, match="--mcp and --tool-answers are for files of tasks"):
        open_dataset("mini", tmp_path, ["true"])
