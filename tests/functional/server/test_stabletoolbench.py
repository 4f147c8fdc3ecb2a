"""StableToolBench's server: its protocol row by row, and its known defects, none of which is repeated here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
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
from trialbed.records import Api, Parameter
from trialbed_selection.tools import Catalog
from trialbed_server import ServerOptions, create_app, import_cache
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


async def test_real_and_simulated_answers_have_the_form_of_cached_ones(serve: Serve, services: Services) -> None:
    client = await serve(**services.asked)
    assert (await client.post("/virtual", json=virtual(""))).json() == {"error": "", "response": "real"}
    assert services.real_requests[0]["tool_input"] == {}
    services.real = Response("down", 500)
    found = await client.post("/virtual", json=virtual({"n": 1}))
    assert (found.status_code, found.json()) == (200, {"error": "", "response": {"sky": "blue"}})
    assert (await client.get("/virtual")).status_code == 405


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


async def test_defect_4_a_real_api_that_fails_is_replaced_by_the_simulator(serve: Serve, services: Services) -> None:
    client = await serve(**services.asked | {"real_url": "http://127.0.0.1:1/rapidapi"})
    reply = await client.post("/virtual", json=virtual())
    assert (reply.status_code, reply.json()["error"]) == (200, "")
    assert len(services.model_requests) == 1


async def test_defect_5_no_name_leads_to_a_file(serve: Serve, tmp_path: Path) -> None:
    outside = tmp_path / "x_for_Data"
    outside.mkdir()
    (outside / "current.json").write_text(json.dumps({"{}": {"error": "", "response": "from a file"}}))
    client = await serve(cache=str(tmp_path / "deep" / "responses.db"))
    before = files_in(tmp_path)
    for tool_name in (str(outside), "../../../x_for_Data", "..\\..\\x_for_Data"):
        for category in ("Data", ".."):
            reply = await client.post("/virtual", json=virtual({}, category=category, tool_name=tool_name))
            assert "from a file" not in reply.text, (category, tool_name)
    assert files_in(tmp_path) == before


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


async def test_defect_9_a_good_answer_is_kept_whatever_its_words(
    serve: Serve, services: Services, tmp_path: Path
) -> None:
    good = ["1500 parameters", "error 404 is a song", {"code": 500, "parse": "authorize"}, "blocked: credential 503"]
    client = await serve(**services.asked)
    for number, response in enumerate(good):
        services.real = {"error": "", "response": response}
        assert (await client.post("/virtual", json=virtual({"n": number}))).json()["response"] == response
    assert [entry.provenance for entry in cached(tmp_path)] == ["real"] * len(good)


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


async def test_defect_12_a_model_is_asked_over_one_connection(serve: Serve, services: Services) -> None:
    client = await serve(**services.simulated)
    for n in range(3):
        await client.post("/virtual", json=virtual({"n": n}))
    assert (len(services.model_requests), len(services.connections)) == (3, 1)


async def test_defects_13_and_18_neither_the_environment_nor_the_folder_configures_a_server(
    serve: Serve, services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yml").write_text("api_key: another\ncache_folder: /nowhere\nport: [")
    before = dict(os.environ)
    frozen = await serve(simulator="none", cache=str(tmp_path / "other.db"))
    client = await serve(**services.simulated)
    assert (await client.post("/virtual", json=virtual())).json()["error"] == ""
    assert "not in the cache" in (await frozen.post("/virtual", json=virtual())).json()["error"]
    assert dict(os.environ) == before


async def test_defect_14_servers_may_make_their_folder_at_once(tmp_path: Path) -> None:
    options = ServerOptions(cache=str(tmp_path / "a" / "b" / "responses.db"))
    apps = await asyncio.gather(*(asyncio.to_thread(create_app, options) for _ in range(4)))
    assert len(apps) == 4


async def test_defect_15_chatting_with_the_user_is_answered(serve: Serve, tmp_path: Path) -> None:
    client = await serve(simulator="none")
    reply = await client.post("/virtual", json=virtual(api_name="chat_with_user"))
    assert (reply.status_code, reply.json()) == (200, {"error": "", "response": "Chat with user."})
    assert cached(tmp_path) == []


async def test_defect_16_no_number_that_is_not_finite_gets_in(serve: Serve, services: Services, tmp_path: Path) -> None:
    file = tmp_path / "cache" / "Weather" / "weather_now_for_Weather" / "current.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"{\'n\': 1}": {"error": "", "response": NaN}, "{\'n\': 2}": {"error": "", "response": 2}}')
    report = import_cache(tmp_path / "cache", str(tmp_path / "responses.db"))
    assert len(report.problems) == 1
    services.real = Response('{"error": "", "response": Infinity}', media_type="application/json")
    services.says = '{"error": "", "response": NaN}'
    client = await serve(**services.asked)
    assert (await client.post("/virtual", json=virtual({"n": 2}))).json()["response"] == 2
    lost = await client.post("/virtual", json=virtual({"n": 1}))
    assert (lost.status_code, lost.json()["response"]) == (200, "")


async def test_defect_17_a_server_tells_its_state_and_an_entry_how_it_was_made(
    serve: Serve, services: Services, tmp_path: Path
) -> None:
    client = await serve(**services.simulated)
    await client.post("/virtual", json=virtual())
    (entry,) = cached(tmp_path)
    assert entry.provenance == "llm:m"
    assert {"model", "prompt", "temperature"} <= json.loads(entry.settings).keys()
    assert (await client.get("/healthz")).json()["version"]
    assert 'trialbed_virtual_requests_total{outcome="' in (await client.get("/metrics")).text
    frozen = await serve(**services.simulated | {"simulator": "none"}, read_only=True)
    assert "not in the cache" in (await frozen.post("/virtual", json=virtual({"n": 5}))).json()["error"]
    assert len(services.model_requests) == 1


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


async def test_defect_20_tools_keep_their_names_apart_and_their_parameters_whole(serve: Serve, tmp_path: Path) -> None:
    number = Parameter(name="maxCount", type="NUMBER", default="")
    texts = Parameter(name="tags", type="ARRAY")
    long = "A very long name of a tool that goes on and on until nobody can read it any more"
    apis = [
        Api(category="C", tool_name=tool, api_name=name, optional_parameters=(number, texts))
        for tool, name in (
            (long, "search by first name"),
            (long, "search by last name"),
            ("Temu", "get"),
            ("emu", "get"),
        )
    ]
    specs = Catalog(apis).specs([api.ref for api in apis])
    assert len({spec.name for spec in specs}) == len(apis)
    assert all(len(spec.name) <= 64 for spec in specs)
    for spec in specs:
        assert spec.parameters["properties"]["maxCount"]["type"] == "number"
        assert spec.parameters["properties"]["tags"]["type"] == "array"
        assert not spec.parameters.get("required")
    remember(tmp_path, "x" * 5000)
    client = await serve(simulator="none")
    assert (await client.post("/virtual", json=virtual({"n": 0}))).json()["response"] == "x" * 5000
