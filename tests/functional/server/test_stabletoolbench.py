"""StableToolBench's server: its protocol row by row, and its known defects, none of which is repeated here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from sqlite3 import dbapi2
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.response_caches import cached
from support.servers import Serve, listening, until, virtual

from trialbed.errors import UsageError
from trialbed_server import ServerOptions
from trialbed_server.response_store import Entry, Origin, ResponseStore
from trialbed_server.standard_names import canonical_json, request_key, requested_name

KEY = "toolbench-key-of-this-test"
NAME = requested_name("Weather", "Weather Now", "Current")
UNPARSED = {"error": "Tool input parse error...\n", "response": ""}


class Services:
    """The real API and a model, as ToolBench and OpenAI speak; each answers as the test says, or waits."""

    def __init__(self) -> None:
        self.url = ""
        self.real: Any = {"error": "", "response": "real"}
        self.says = '{"error": "", "response": {"sky": "blue"}}'
        self.real_requests: list[Any] = []
        self.model_requests: list[Any] = []
        self.connections: set[Any] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        routes = [("/rapidapi", self._real), ("/v1/chat/completions", self._chat)]
        self.app = Starlette(routes=[Route(path, end, methods=["POST"]) for path, end in routes])

    @property
    def asked(self) -> dict[str, Any]:
        """Options of a server that asks both."""
        return {"real_url": f"{self.url}/rapidapi", "real_key": KEY} | self.simulated

    @property
    def simulated(self) -> dict[str, Any]:
        """Options of a server that asks the model."""
        return {"simulator": "llm", "simulator_model": "m", "simulator_upstream": f"{self.url}/v1"}

    async def _real(self, request: Request) -> Response:
        self.real_requests.append(await request.json())
        await self.gate.wait()
        return self.real if isinstance(self.real, Response) else JSONResponse(self.real)

    async def _chat(self, request: Request) -> Response:
        self.model_requests.append(await request.json())
        self.connections.add(request.scope["client"])
        choice = {"index": 0, "message": {"role": "assistant", "content": self.says}, "finish_reason": "stop"}
        return JSONResponse({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    found = Services()
    async with listening(found.app) as url:
        found.url = url
        yield found
        found.gate.set()


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def remember(folder: Path, *responses: Any, provenance: str = "imported") -> None:
    """Keep responses to ``{"n": 0}``, ``{"n": 1}`` and so on."""
    store = ResponseStore(str(folder / "responses.db"))
    store.add([
        Entry(request_key(NAME, {"n": n}), NAME, canonical_json({"n": n}), _body(response), Origin(provenance))
        for n, response in enumerate(responses)
    ])  # fmt: skip
    store.close()


def _body(response: Any) -> str:
    return json.dumps({"error": "", "response": response})


LIST = {"error": "", "response": ["a", {"list": 1}]}
ANSWERS: dict[str, tuple[Any, int, Any]] = {
    "hit of a list": (virtual({"n": 0}), 200, LIST),
    "hit of an empty text": (virtual({"n": 1}), 200, {"error": "", "response": ""}),
    "input as a text": (virtual('{"n": 0}'), 200, LIST),
    "input that is not JSON": (virtual("{'n': 0}"), 200, UNPARSED),
    "chat with user": (virtual(api_name="chat_with_user"), 200, {"error": "", "response": "Chat with user."}),
    "input that is a list": (virtual([1]), 422, None),
    "fields that are missing": ({"category": "Weather"}, 422, None),
    "fields that are unknown": ({**virtual({"n": 0}), "more": 1}, 200, LIST),
}
"""Request -> what is sent, and status and body of the answer; None for a description of what is wrong."""


async def test_each_request_is_answered_in_stabletoolbenchs_form(serve: Serve, tmp_path: Path) -> None:
    remember(tmp_path, ["a", {"list": 1}], "")
    client = await serve(simulator="none")
    for name, (sent, status, answer) in ANSWERS.items():
        reply = await client.post("/virtual", json=sent)
        assert reply.status_code == status, name
        if answer is None:
            assert reply.json()["detail"][0]["loc"][0] == "body", name
        else:
            assert reply.json() == answer, name


# The defects, in the order in which they are listed in the documentation of the original's behaviour.


async def test_defect_1_answers_that_are_written_at_once_replace_nothing(serve: Serve, tmp_path: Path) -> None:
    remember(tmp_path, *range(100))
    client = await serve()
    numbers = range(1000, 1064)
    replies = await asyncio.gather(*(client.post("/virtual", json=virtual({"n": n}), timeout=None) for n in numbers))
    assert {reply.status_code for reply in replies} == {200}
    assert {json.loads(entry.input)["n"] for entry in cached(tmp_path)} == {*range(100), *numbers}


async def test_defect_2_a_hit_reads_one_row_by_its_key_however_many_there_are(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, *range(1000))
    statements: list[str] = []

    def traced(*arguments: Any, connect: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **named)
        connection.set_trace_callback(statements.append)
        return connection

    for module in (sqlite3, dbapi2):
        monkeypatch.setattr(module, "connect", partial(traced, connect=module.connect))
    client = await serve(memory=0)
    statements.clear()
    assert (await client.post("/virtual", json=virtual({"n": 7}))).json()["response"] == 7
    statement, *others = [text for text in statements if text.startswith("SELECT")]
    assert not others
    with contextlib.closing(sqlite3.connect(tmp_path / "responses.db")) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    assert any("SEARCH trialbed_responses USING" in step[-1] for step in plan)
    assert not any(step[-1].startswith("SCAN") for step in plan)


async def test_defect_3_hits_pass_80_misses_that_wait_and_a_wait_ends(
    serve: Serve, services: Services, tmp_path: Path
) -> None:
    remember(tmp_path, "kept")
    services.gate.clear()
    client = await serve(**services.asked, real_timeout=60)
    misses = [
        asyncio.ensure_future(client.post("/virtual", json=virtual({"n": n}), timeout=None)) for n in range(1, 81)
    ]
    await until(lambda: len(services.real_requests) == 80)
    hits = [(await client.post("/virtual", json=virtual({"n": 0}))).json()["response"] for _ in range(5)]
    assert hits == ["kept"] * 5
    assert not any(miss.done() for miss in misses)
    services.gate.set()
    assert {(await miss).json()["response"] for miss in misses} == {"real"}
    services.gate.clear()
    hasty = await serve(**services.asked, real_timeout=0.05)
    assert (await hasty.post("/virtual", json=virtual({"n": 100}))).json()["response"] == {"sky": "blue"}


async def test_defect_6_an_open_address_needs_a_token_and_keys_are_not_logged(
    serve: Serve, services: Services, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UsageError, match="TRIALBED_SERVER_TOKEN"):
        ServerOptions(host="0.0.0.0", cache=str(tmp_path / "responses.db"))
    caplog.set_level(logging.DEBUG)
    client = await serve(**services.asked)
    await client.post("/virtual", json=virtual(toolbench_key=KEY))
    assert services.real_requests[0]["toolbench_key"] == KEY
    assert KEY not in caplog.text


async def test_defect_7_a_body_has_a_largest_size_and_is_not_logged(
    serve: Serve, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, logger="trialbed_server")
    client = await serve()
    large = await client.post("/virtual", json=virtual({"text": "x" * 20_000_000}))
    assert (large.status_code, large.json()["response"]) == (413, "")
    await client.post("/virtual", json=virtual({"text": "y" * 100_000}))
    assert "yyyyyyyyyy" not in caplog.text
    assert len(cached(tmp_path)) == 1


async def test_defect_8_the_order_of_keys_does_not_matter_and_types_do(serve: Serve, tmp_path: Path) -> None:
    client = await serve()
    for tool_input in ({"a": 1, "b": True}, {"b": True, "a": 1}, '{ "b":true,"a":1 }', {"a": "1", "b": True}):
        await client.post("/virtual", json=virtual(tool_input))
    assert sorted(entry.input for entry in cached(tmp_path)) == ['{"a":"1","b":true}', '{"a":1,"b":true}']


async def test_defect_10_what_is_no_answer_of_a_model_is_not_kept(
    serve: Serve, services: Services, tmp_path: Path
) -> None:
    client = await serve(**services.simulated)
    for says in ("[1, 2]", '{"error": "", "response": ""}', '{"error": "cannot", "response": ""}', "{}"):
        services.says = says
        reply = await client.post("/virtual", json=virtual())
        assert (reply.status_code, bool(reply.json()["error"])) == (200, True), says
    assert cached(tmp_path) == []


async def test_defect_11_equal_misses_ask_once(serve: Serve, services: Services) -> None:
    services.gate.clear()
    client = await serve(**services.asked)
    asking = [asyncio.ensure_future(client.post("/virtual", json=virtual())) for _ in range(20)]
    await until(lambda: services.real_requests)
    services.gate.set()
    assert {(await reply).json()["response"] for reply in asking} == {"real"}
    assert len(services.real_requests) == 1


async def test_defect_19_no_key_reaches_a_file_or_a_description_of_the_server(
    serve: Serve, services: Services, tmp_path: Path
) -> None:
    options = ServerOptions(cache=str(tmp_path / "responses.db"), **services.asked)
    assert KEY not in repr(options)
    client = await serve(**services.asked)
    await client.post("/virtual", json=virtual(toolbench_key=KEY))
    for path in ("/healthz", "/metrics"):
        assert KEY not in (await client.get(path)).text
    assert not any(KEY.encode() in path.read_bytes() for path in files_in(tmp_path))
