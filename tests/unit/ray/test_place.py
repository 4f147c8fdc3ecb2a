"""A place on a node, and its connection with the engine; Ray, which only names the node, is played."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import psutil
import pytest
from support.hostile_agents import install_hostile_agents

from trialbed.errors import DriverBroken
from trialbed.records import Limits, ModelEndpoint, Outcome, TrialKey, TrialSpec
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_ray import _messages
from trialbed_ray._messages import (
    ANSWER,
    Describe,
    Described,
    Execute,
    Executed,
    Greeting,
    NotDone,
    PlaceConnection,
    PlaceSetup,
    UseServer,
)
from trialbed_ray._place import Place

SECURED = """
import asyncio, os, ssl, sys
from trialbed.errors import SettingsError
from trialbed_ray._messages import PlaceConnection, security
from trialbed_ray._messages import EndPlace

async def main():
    taken = asyncio.Queue()

    async def take(reader, writer):
        await taken.put(await PlaceConnection(reader, writer).read())

    server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=security(ssl.Purpose.CLIENT_AUTH))
    port = server.sockets[0].getsockname()[1]
    connection = await PlaceConnection.open("127.0.0.1", port)
    connection.send(EndPlace(place=7))
    print((await taken.get()).decode(), connection._writer.get_extra_info("cipher") is not None)
    context = ssl.create_default_context(cafile=os.environ["RAY_TLS_CA_CERT"])
    context.check_hostname = False
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        print("refused" if await reader.read() == b"" else "taken")
    except ssl.SSLError as error:
        print("refused" if "CERTIFICATE_REQUIRED" in str(error) else error)
    server.close()
    del os.environ["RAY_TLS_CA_CERT"]
    try:
        security(ssl.Purpose.CLIENT_AUTH)
    except SettingsError as error:
        print("RAY_TLS_CA_CERT=)" in str(error))

asyncio.run(main())
"""


def spec(does: str) -> TrialSpec:
    return TrialSpec.at(
        "http://127.0.0.1:9/t/trial-token",
        ModelEndpoint(base_url="", api_key="none", model="none"),
        key=TrialKey(framework="hostile", query_id=1),
        query=does,
        system_prompt="",
        tools=(),
        limits=Limits(timeout=60),
    )


async def refuse(*_: object) -> NoReturn:
    raise DriverBroken("\udc80 is no name")


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there is no text")


async def raise_unreadable(*_: object) -> NoReturn:
    raise UnreadableError


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[tuple[PlaceConnection, asyncio.Task[None]]]:
    """The engine's end of a connection with a place, and the place's work."""
    taken: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    connections = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(PlaceConnection(reader, writer))
        await taken.put(writer)

    async with asyncio.timeout(120), await asyncio.start_server(take, "127.0.0.1", 0) as server:
        place = Place(PlaceSetup(options={"memory": "1G"}, **settings).model_dump_json())
        port = server.sockets[0].getsockname()[1]
        serving = asyncio.create_task(place.serve("127.0.0.1", port, "its-token"))
        writer = await taken.get()
        (engine,) = connections
        greeting = Greeting.model_validate_json(await engine.read())
        assert greeting == Greeting(token="its-token", address="10.0.0.8", node="4711")
        yield engine, serving
        engine.close()
        with suppress(ValueError):  # of a message that is too long
            await serving
        with suppress(OSError):
            await writer.wait_closed()


@pytest.fixture(autouse=True)
def on_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    environment = dict(os.environ)
    util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.8")
    context = SimpleNamespace(get_node_id=lambda: "4711")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(util=util, get_runtime_context=lambda: context))
    install_hostile_agents(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield
    # Places forget most of what is there.
    os.environ.clear()
    os.environ.update(environment)


async def test_a_place_describes_runs_trials_and_says_what_cannot_be_done() -> None:
    async with served() as (engine, _):
        engine.send(UseServer(url="http://127.0.0.1:9"))
        engine.send(Describe(number=1, framework="hostile"))
        described = ANSWER.validate_json(await engine.read())
        assert isinstance(described, Described)
        assert (described.number, described.info.name) == (1, "hostile")
        engine.send(Execute(number=2, spec=spec("good")))
        executed = ANSWER.validate_json(await engine.read())
        assert isinstance(executed, Executed)
        assert executed.outcome.answer is not None
        engine.send(Describe(number=3, framework="no-such-framework"))
        failed = ANSWER.validate_json(await engine.read())
        assert isinstance(failed, NotDone)
        assert (failed.number, failed.error) == (3, "DriverNotFound")


async def test_a_place_forgets_the_keys_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"RAY_AUTH_TOKEN": "of-the-cluster", "TRIALBED_WORKER_TRIALS": "7"}
    for name, value in {"OPENAI_API_KEY": "sk-canary", "TRIALBED_TOKEN": "sk-canary", **own}.items():
        monkeypatch.setenv(name, value)
    async with served():
        assert "sk-canary" not in os.environ.values()
        assert own.items() <= os.environ.items()


async def test_workers_of_a_place_are_in_the_sandbox_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[tuple[Path, ...] | None] = []

    async def describe(self: LocalExecutor, _: str) -> NoReturn:
        entered.append(self.hidden)
        raise DriverBroken("no worker")

    monkeypatch.setattr(LocalExecutor, "describe", describe)
    (tmp_path / "store").touch()
    hidden = (str(tmp_path / "store"), str(tmp_path / "on-the-other-machine-only"))
    for settings in ({"hidden": hidden}, {}):
        async with served(**settings) as (engine, _):
            engine.send(Describe(number=1, framework="hostile"))
            await engine.read()
    assert entered == [(tmp_path / "store",), None]


async def test_an_answer_that_cannot_be_written_is_told_or_costs_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Outcome(started_at=datetime.now(UTC), wall_time=1.0)

    async def execute(*_: object) -> Outcome:
        return found.model_copy(update={"node": "\udc80"})

    monkeypatch.setattr(LocalExecutor, "execute", execute)
    monkeypatch.setattr(LocalExecutor, "describe", refuse)
    async with served() as (engine, serving):
        engine.send(Describe(number=1, framework="hostile"))
        refused = ANSWER.validate_json(await engine.read())
        assert refused == NotDone(number=1, error="DriverBroken", message="? is no name")
        engine.send(Execute(number=2, spec=spec("good")))
        failed = ANSWER.validate_json(await engine.read())
        assert isinstance(failed, NotDone)
        assert (failed.number, failed.error) == (2, "PydanticSerializationError")
        monkeypatch.setattr(LocalExecutor, "describe", raise_unreadable)
        engine.send(Describe(number=3, framework="hostile"))
        with pytest.raises((EOFError, OSError)):
            await engine.read()
        await serving


async def test_a_place_ends_its_workers_when_the_engine_hangs_up() -> None:
    before = psutil.Process().children()  # other tests may leave a server running beside this one
    async with served() as (engine, serving):
        engine.send(Execute(number=1, spec=spec("sleep")))
        while not (workers := [one for one in psutil.Process().children() if one not in before]):  # noqa: ASYNC110 - the system announces none
            await asyncio.sleep(0.01)
        workers += [inner for one in workers for inner in one.children(recursive=True)]
        engine.close()
        await serving
        assert not [one for one in workers if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


async def test_a_place_that_cannot_reach_the_engine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(
            ConnectionError, match=rf"the engine cannot be reached at 127\.0\.0\.1:{port}: .*Connect call failed"
        ):
            await PlaceConnection.open("127.0.0.1", port)
        monkeypatch.setattr(_messages, "REACH", 0.0)
        with pytest.raises(ConnectionError, match="no answer within 0 s"):
            await PlaceConnection.open("127.0.0.1", port)


async def test_a_message_that_is_too_long_ends_the_connection() -> None:
    async with served() as (engine, serving):
        engine._writer.write(b"\xff" * 8)
        with pytest.raises(ValueError, match="a message has 4294967295 bytes, more than 67108864"):
            await serving
        with pytest.raises((EOFError, OSError)):
            await engine.read()


def test_connections_are_as_secure_as_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=cluster"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    monkeypatch.setenv("RAY_USE_TLS", "1")
    monkeypatch.setenv("RAY_TLS_SERVER_KEY", key)
    monkeypatch.setenv("RAY_TLS_SERVER_CERT", certificate)
    monkeypatch.setenv("RAY_TLS_CA_CERT", certificate)
    # In a process of its own: tests read no certificates.
    done = subprocess.run([sys.executable, "-c", SECURED], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ['{"type":"end","place":7} True', "refused", "True"]
