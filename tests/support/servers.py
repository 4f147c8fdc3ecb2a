"""Real servers for tests: in a process of their own, or on the test's event loop."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp
from support.warm import warm_command

API = {
    "category": "Weather",
    "tool_name": "Weather Now",
    "api_name": "Current",
    "description": "The current weather of a city",
    "required_parameters": [{"name": "city"}],
    "template_response": {"temperature": "int", "sky": "str"},
}
REF = {key: API[key] for key in ("category", "tool_name", "api_name")}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "Weather_Now_Current", "description": "d", "parameters": SCHEMA, "api": REF}
OFFERED = [{"type": "function", "function": {key: TOOL[key] for key in ("name", "description", "parameters")}}]
TRIAL = "trial-token-1"


def registration(**fields: Any) -> dict[str, Any]:
    """A trial of one tool and one gold call; its requests may name any model."""
    return {
        "trial": TRIAL,
        "model": "scripted:gold",
        "allowed_models": ["*"],
        "tools": [TOOL],
        "apis": [API],
        "script": [{"name": TOOL["name"], "arguments": {"city": "Oslo"}}],
        **fields,
    }


def virtual(tool_input: Any = None, **fields: Any) -> dict[str, Any]:
    """A request to the virtual API."""
    given = {"city": "Oslo"} if tool_input is None else tool_input
    return {**REF, "tool_input": given, "strip": "", "toolbench_key": "EMPTY", **fields}


class ServerProcess:
    """A server in a process of its own; ``url`` is from its ready line."""

    def __init__(self, *, cache: Path, environment: Mapping[str, str] | None = None, **options: Any) -> None:
        options = {"port": 0, "cache": str(cache), **options}
        command = [sys.executable, "-m", "trialbed_server", json.dumps(options)]
        self.process = subprocess.Popen(
            warm_command(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.line = self.process.stdout.readline()  # type: ignore[union-attr]
        self.url = json.loads(self.line)["url"] if self.line else ""

    def end(self) -> tuple[str, str]:
        """Terminate it; what it wrote after the ready line, on both streams."""
        self.process.terminate()
        return self.process.communicate(timeout=60)


@asynccontextmanager
async def listening(app: ASGIApp, **settings: Any) -> AsyncIterator[str]:
    """The URL of an application served on this event loop."""
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, **settings)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Not `serve()`, which looks only ten times a second at whether it should end, and pauses for as long when it does.
    await server.startup()
    assert server.started, "the application did not start"
    await server.on_tick(0)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        for listener in server.servers:
            listener.close()
        await _finished(server)
        await server.lifespan.shutdown()


async def _finished(server: uvicorn.Server) -> None:
    """Close all connections; a request that is not answered within a second is cancelled."""
    state = server.server_state
    for connection in list(state.connections):
        connection.shutdown()
    try:
        async with asyncio.timeout(1):
            while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn offers sets only
                await asyncio.sleep(0.002)
    except TimeoutError:
        for task in state.tasks:
            task.cancel()


Serve = Callable[..., Awaitable[httpx.AsyncClient]]


async def until(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds, at most a minute."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - waits for things that set no event
            await asyncio.sleep(0.01)


async def closed(client: httpx.AsyncClient, trial: str = TRIAL) -> dict[str, Any]:
    """Close a trial; its wire log."""
    reply = await client.delete(f"/control/trials/{trial}")
    assert reply.status_code == 200, reply.text
    log: dict[str, Any] = reply.json()
    return log
