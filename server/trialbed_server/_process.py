"""The server as a process: a socket, a ready line, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from trialbed.errors import ServerUnavailable
from trialbed_server._app import create_app
from trialbed_server._application import Application
from trialbed_server._logging import configure_logging
from trialbed_server._options import ServerOptions
from trialbed_server._trial_routing import TrialRouting, WorkerPlace
from trialbed_server._workers import Workers
from trialbed_server.cache import ResponseStore

Watch = Callable[[Callable[[], None]], None]
"""Has its argument called when the server shall end."""

KEEP_ALIVE = 600
"""Seconds that an idle connection stays open.

HTTP clients drop idle connections themselves, after seconds (httpx: 5). A server that drops them first does
so, now and then, just when a client sends: the framework would be blamed for a request that Trialbed lost.
"""


def serve(options: ServerOptions) -> None:
    """Serve until SIGTERM, SIGINT or the end of a watched standard input.

    Prints ``{"url": …}`` on standard output when it listens, and nothing else there; logs go to standard error.

    Raises:
        TrialbedError: the server cannot start; the text says why.
    """
    configure_logging(options.log_format, options.secrets())
    ResponseStore(options.cache).close()
    if options.workers == 1:
        app = create_app(options)
    with contextlib.closing(_listen(options.host, options.port)) as listener:
        if options.workers == 1:
            _serve_app(app, app, options, [listener], lambda: _announce(listener), _stdin_watcher(options))
            return
        workers = Workers(options, listener, serve_worker)
        _stdin_watcher(options)(workers.stop)
        workers.run(lambda: _announce(listener))


def serve_worker(
    options: ServerOptions,
    sockets: Sequence[socket.socket],
    place: WorkerPlace,
    on_ready: Callable[[], object],
    watch: Watch,
) -> None:
    """Serve a socket that other processes serve too, and one of its own, by which they pass on its trials' requests."""
    configure_logging(options.log_format, options.secrets())
    inner = create_app(options)
    _serve_app(TrialRouting(inner, place, options.max_body), inner, options, sockets, on_ready, watch)


def _serve_app(
    app: ASGIApp,
    inner: Application,
    options: ServerOptions,
    sockets: Sequence[socket.socket],
    on_ready: Callable[[], object],
    watch: Watch,
) -> None:
    config = uvicorn.Config(
        app,
        http=inner.protocol,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(options.grace),
        server_header=False,
    )
    _Server(config, inner, on_ready=on_ready, watch=watch).run(sockets=list(sockets))


def _stdin_watcher(options: ServerOptions) -> Watch:
    return _call_at_end_of_stdin if options.watch_stdin else lambda _end: None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ServerUnavailable(
            f"cannot listen on {host} port {port}: {error}; choose another --port (0 picks a free one)"
        ) from error


def _announce(listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    sys.stdout.write(json.dumps({"url": f"http://{name}:{port}"}) + "\n")
    sys.stdout.flush()


class _Server(uvicorn.Server):
    """Ends with exit code 0 on a signal, where uvicorn would let the signal kill the process afterwards."""

    def __init__(
        self, config: uvicorn.Config, app: Application, *, on_ready: Callable[[], object], watch: Watch
    ) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready
        self._watch = watch

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # All that was loaded until here stays: to look through it for garbage takes as long as many requests.
        gc.freeze()
        self._watch(self._end_soon())
        self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        yield

    def _on_signal(self, _number: int, _frame: object) -> None:
        self.should_exit = True

    def _end_soon(self) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def end() -> None:
            # At once, and not when the loop's turn comes: no process may take hold of the server meanwhile.
            self._app.state.is_ending = True
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(self._on_signal, 0, None)

        return end


def _call_at_end_of_stdin(callback: Callable[[], None]) -> None:
    def watch() -> None:
        while os.read(descriptor, 4096):
            pass
        callback()

    descriptor = cast("int", sys.stdin.fileno())
    threading.Thread(target=watch, name="watch-stdin", daemon=True).start()
