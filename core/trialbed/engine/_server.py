"""The server of a run, which is already running or lives as long as the run."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import secrets
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, Any

import aiohttp

from trialbed.contracts import OpenedModel
from trialbed.engine._background import Standing
from trialbed.engine._control import ControlClient
from trialbed.errors import ServerUnavailable, UsageError
from trialbed.models import helper_endpoint
from trialbed.preparation import RunOptions
from trialbed.records import Prices
from trialbed.settings import CONTROL_TOKEN, SERVER_TOKEN, SIMULATOR_KEY, UPSTREAM_KEY, UPSTREAM_KEYS, make_folder
from trialbed.wire.addresses import split_address

FOR_OWN_SERVERS = frozenset({SERVER_TOKEN, UPSTREAM_KEY, UPSTREAM_KEYS, SIMULATOR_KEY})
"""Variables of servers that users start themselves. A run's server has others: these keys are for other endpoints."""

OPEN_SERVER = (
    "--server-url: the server at {url} asks for no token, so agents could close trials there, open their own, and ask "
    f"the model outside of them, unseen. Set {SERVER_TOKEN} (at least 16 characters) for the server and for this "
    f"command, and start `bench serve` again: export {SERVER_TOKEN}="
    "$(python -c 'import secrets; print(secrets.token_urlsafe())')"
)
LEASE = 60.0
"""Seconds that a shared server keeps the trials of an engine that is gone."""

NEVER = 10 * 365 * 86_400
"""Seconds. A trial waits for its turn as long as the others take, and a run's server ends with its engine anyway."""

SERVER = "trialbed_server: "
"""Begins the line that says why the server did not start."""

START_TIMEOUT = 60.0
"""Seconds to wait for a server's address."""

STOP_TIMEOUT = 10.0
LAST_OUTPUT = 1.0
"""Seconds for a server to end, and for reading its last output."""

KEPT = 8192
"""The last characters of a server's output that are kept."""

UPSTREAM_TIMEOUT = 300.0
"""Seconds of silence that a request may take at least."""


@dataclass(frozen=True)
class ServerStart:
    """How a server is started; equal if one server can serve the trials of both.

    Attributes:
        keys: the variables that have keys, each with its key.
    """

    command: tuple[str, ...]
    keys: tuple[tuple[str, str], ...] = field(repr=False)

    def environment(self, token: str) -> dict[str, str]:
        """Return the variables of a server that is controlled with a token, which replaces the user's own."""
        kept = {name: value for name, value in os.environ.items() if name not in FOR_OWN_SERVERS}
        return {**kept, CONTROL_TOKEN: token, **dict(self.keys)}


def server_start(
    options: RunOptions,
    models: Iterable[OpenedModel],
    *,
    cache: Path | None = None,
    simulator_prices: Prices | None = None,
    user_prices: Prices | None = None,
    host: str | None = None,
) -> ServerStart:
    """Return how a server for trials with some models is started; ``server`` describes the arguments.

    Raises:
        UsageError: the folder of its cache cannot be made.
    """
    make_folder(options.response_cache.parent, "--response-cache")
    # The options' endpoint first, for judge and simulators, then the models' own endpoints.
    upstreams: dict[str, str | None] = {}
    if options.base_url:
        upstreams[options.base_url.rstrip("/")] = os.environ.get(options.api_key_env) or None
    for model in models:
        if model.base_url is not None:
            upstreams.setdefault(model.base_url.rstrip("/"), model.api_key)
    user = helper_endpoint(options.user_model, options) if options.user_model else None
    if user is not None:
        upstreams.setdefault(user.base_url, user.api_key or None)
    first, others = next(iter(upstreams), None), [*upstreams][1:]
    simulator_model, simulator_url = split_address(options.simulator_model or "")
    # By the names of ``trialbed_server.ServerOptions``.
    settings: dict[str, Any] = {
        "watch_stdin": True,
        "port": options.server_port,
        "host": host,
        "cache": str(options.response_cache),
        "trial_expiry": NEVER,
        "model_cache": None if cache is None else str(cache),
        "upstream": first,
        "other_upstreams": others,
        "model_retries": options.model_retries,
        "endpoint_patience": options.endpoint_patience,
        "rpm": options.rpm,
        "tpm": options.tpm,
        # A trial's own requests have its time; this is for the judge's.
        "upstream_timeout": max(options.timeout, UPSTREAM_TIMEOUT),
        "simulator_model": simulator_model or None,
        "simulator_upstream": simulator_url,
        "simulator_prices": None if simulator_prices is None else simulator_prices.model_dump(mode="json"),
        "user_model": None if user is None else f"{user.model}@{user.base_url}",
        "user_prices": None if user_prices is None else user_prices.model_dump(mode="json"),
        "completions": str(options.completions),
        "max_helper_requests": options.max_helper_requests,
    }
    known = {name: value for name, value in settings.items() if value is not None}
    command = (sys.executable, "-P", "-m", "trialbed_server", json.dumps(known))
    further = {url: upstreams[url] for url in others if upstreams[url]}
    keys = {
        UPSTREAM_KEY: upstreams.get(first or ""),
        UPSTREAM_KEYS: json.dumps(further) if further else None,
        # Simulators have a key of their own if their model has an endpoint of its own.
        SIMULATOR_KEY: helper_endpoint(options.simulator_model or "", options).api_key if simulator_url else None,
    }
    return ServerStart(command, tuple((variable, key) for variable, key in keys.items() if key))


@asynccontextmanager
async def server(
    options: RunOptions,
    *,
    calls_back: bool = False,
    workers: bool = True,
    models: Iterable[OpenedModel] = (),
    cache: Path | None = None,
    simulator_prices: Prices | None = None,
    user_prices: Prices | None = None,
    host: str | None = None,
    standing: Standing | None = None,
) -> AsyncIterator[ControlClient]:
    """Yield a client of the run's server; the server is stopped afterwards if it was started for the run.

    Args:
        calls_back: whether this process answers calls of Apis.
        workers: whether agents run in workers, which must not be able to control trials; agents of this process can.
        models: the models of the trials; if a model has its own endpoint, it needs no other.
        cache: keeps the models' answers; None keeps nothing.
        simulator_prices, user_prices: of the models that simulators and users ask, if known.
        host: the address of this machine at which other machines reach it; None for loopback.
        standing: keeps a server that is started for later runs which need no other.

    Raises:
        ServerUnavailable: it cannot be reached or does not start; says why.
        UsageError: the folder of its cache cannot be made, or a server that runs already cannot call this process, or
            would let workers control trials.
    """
    if options.server_url is not None:
        if options.rpm or options.tpm:
            raise UsageError(
                "--rpm and --tpm are kept by the server: give them to bench serve, or leave out --server-url"
            )
        if calls_back:
            raise UsageError(
                "tools and simulators of this program need a server that is started for the run: leave out server_url"
            )
        unknown = next((model for model in models if model.base_url not in (None, options.base_url)), None)
        if unknown is not None:
            raise UsageError(
                f"--server-url: a running server does not know the endpoint of the model {unknown.model}, or of "
                "others besides the one of --base-url: leave out --server-url (server_url in Python)"
            )
        async with ControlClient(server_root(options.server_url), lease=LEASE) as client:
            await client.health()
            if workers and await _is_open(client.url):
                raise UsageError(OPEN_SERVER.format(url=client.url))
            yield client
        return
    start = server_start(
        options, models, cache=cache, simulator_prices=simulator_prices, user_prices=user_prices, host=host
    )
    # Simulators and users count their requests for as long as the server lives.
    keep = not (workers or options.simulator_model or options.user_model or options.server_port)
    async with nullcontext(standing) if standing is not None else Standing() as servers:
        yield await servers.use(start, partial(_process, start, keep=keep))


async def _is_open(root: str) -> bool:
    """Return whether anyone who can reach a server may control its trials."""
    limit = aiohttp.ClientTimeout(total=5)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=False) as session,
            session.get(f"{root}/control/endpoint") as reply,
        ):
            return reply.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False  # the next request says why


def server_root(url: str) -> str:
    """Return the server's root, whether ``url`` is it, its ``/virtual`` or its ``/v1``."""
    url = url.rstrip("/")
    for suffix in ("/virtual", "/v1"):
        url = url.removesuffix(suffix)
    return url


class ServerProcess:
    """The process of a server, which ends with its standard input.

    Its output is read to the end, since unread it would hold the server up: plugins may print there.

    Attributes:
        token: controls it.
    """

    def __init__(self, start: ServerStart) -> None:
        self.start, self.token = start, secrets.token_urlsafe(32)
        self._said: deque[str] = deque(maxlen=KEPT)
        self._first: Future[bytes] = Future()
        self._process = subprocess.Popen(
            start.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=start.environment(self.token),
            # Ctrl-C in the terminal is the engine's to handle: the server must outlive it to hand over its logs.
            start_new_session=True,
        )
        streams = ((self._process.stdout, self._first), (self._process.stderr, None))
        self._readers = [Thread(target=self._read, args=stream, daemon=True) for stream in streams]
        for reader in self._readers:
            reader.start()

    @property
    def alive(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    async def address(self) -> str:
        """Return its URL, which it writes first; the process is stopped if it does not.

        Raises:
            ServerUnavailable, UsageError: it did not start; says why.
        """
        try:
            line = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._first)), START_TIMEOUT)
            return str(json.loads(line)["url"])
        except (TimeoutError, ValueError, KeyError) as error:
            await asyncio.to_thread(self.stop)
            text = "".join(self._said).strip()
            if self._process.returncode == UsageError.exit_code:
                # An option of the run's that only the server reads, such as a file that it opens.
                raise UsageError(text.rpartition(SERVER)[2]) from error
            reason = f"what it wrote is not its address: {error}"
            if isinstance(error, TimeoutError):
                late = "if the machine is busy, run the command again later"
                reason = f"it gave no address within {START_TIMEOUT:g} s; {late}"
            raise ServerUnavailable(f"the server did not start:\n{text or reason}") from error

    def stop(self) -> None:
        """Close its input and wait until it has ended; kill it if that takes too long."""
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr] # asked for above
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(LAST_OUTPUT)  # a process that a plugin started may hold it open

    def _read(self, stream: IO[bytes], first: Future[bytes] | None) -> None:
        with stream:
            if first is not None:
                first.set_result(stream.readline(KEPT))
            while chunk := stream.read(4096):
                if first is None:
                    self._said.extend(chunk.decode(errors="replace"))


_KEPT: list[ServerProcess] = []
"""The server that the next ``evaluate`` of this program can use, if any: to start one takes a second."""


@asynccontextmanager
async def _process(start: ServerStart, *, keep: bool) -> AsyncIterator[ControlClient]:
    """Yield a client of a server that is started, or was started before.

    Args:
        keep: whether it may be shared with earlier and later runs of this program, and is stopped with the program.
    """
    process = _KEPT.pop() if keep and _KEPT else None
    if process is not None and not (process.start == start and process.alive):
        await asyncio.to_thread(process.stop)
        process = None
    process = process or ServerProcess(start)
    try:
        async with ControlClient(await process.address(), process.token) as client:
            await client.health()
            yield client
    except BaseException:
        keep = False
        raise
    finally:
        if keep and not _KEPT:
            _KEPT.append(process)
        else:
            await asyncio.to_thread(process.stop)


@atexit.register
def _stop_kept() -> None:
    while _KEPT:
        _KEPT.pop().stop()
