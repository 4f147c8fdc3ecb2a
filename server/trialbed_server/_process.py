"""Run the server as a process with a socket, a ready line, a log without secrets, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator

import uvicorn

from trialbed.errors import ServerUnavailable
from trialbed.wire.redaction import redaction_of
from trialbed_server._app import Application, create_app
from trialbed_server._options import ServerOptions
from trialbed_server.response_store import ResponseStore

KEEP_ALIVE = 600
"""Seconds that an idle connection stays open.

HTTP clients drop idle connections themselves, after seconds (httpx: 5). A server that drops them first does
so, now and then, just when a client sends: the framework would be blamed for a request that Trialbed lost.
"""

FEWEST = 5_000
"""New objects before a search for garbage; requests leave hardly any."""

GRACE = 2
"""Seconds that requests in flight have when the server ends."""

PATIENCE = 10
"""Seconds after which it is ended if its loop does not notice that the run has: a request may hold it up for ever."""


def serve(options: ServerOptions) -> None:
    """Serve until SIGTERM, SIGINT or the end of a watched standard input.

    Prints ``{"url": …}`` on standard output when it listens, and nothing else there; logs go to standard error.

    Raises:
        TrialbedError: the server cannot start; the text says why.
    """
    _configure_logging(options)
    ResponseStore(options.cache).close()
    app = create_app(options)
    with contextlib.closing(_listen(options.host, options.port)) as listener:
        config = uvicorn.Config(
            app,
            http=app.protocol,
            log_config=None,
            access_log=False,
            proxy_headers=False,  # nothing looks at clients' addresses
            ws="none",
            lifespan="on",
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
            server_header=False,
        )
        _Server(config, app, listener, watch_stdin=options.watch_stdin).run(sockets=[listener])


def _configure_logging(options: ServerOptions) -> None:
    """Log to standard error, unless something is set up already, and mask secrets everywhere."""
    redaction = redaction_of(options.secrets())

    class Masking(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return redaction.text(super().format(record))

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Masking("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # The SDK writes several lines for every request.
    logging.getLogger("mcp").setLevel(logging.WARNING)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ServerUnavailable(
            f"cannot listen on {host} port {port}: {error}; choose another --port (0 picks a free one)"
        ) from error


class _Server(uvicorn.Server):
    """Exit with code 0 on a signal; uvicorn alone would let the signal kill the process afterwards."""

    def __init__(self, config: uvicorn.Config, app: Application, listener: socket.socket, *, watch_stdin: bool) -> None:
        super().__init__(config)
        self._app = app
        self._listener = listener
        self._watch_stdin = watch_stdin

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is loaded by now stays: searching it for garbage takes as long as many requests.
        gc.freeze()
        gc.set_threshold(FEWEST, *gc.get_threshold()[1:])
        if self._watch_stdin:
            watched = asyncio.get_running_loop(), sys.stdin.fileno()
            threading.Thread(target=self._end_with_stdin, args=watched, name="watch-stdin", daemon=True).start()
        host, port = self._listener.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        sys.stdout.write(json.dumps({"url": f"http://{name}:{port}"}) + "\n")
        sys.stdout.flush()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        yield

    def _on_signal(self, _number: int, _frame: object) -> None:
        self.should_exit = True

    def _end_with_stdin(self, loop: asyncio.AbstractEventLoop, stdin: int) -> None:
        while os.read(stdin, 4096):
            pass
        # At once, not in the loop's next turn: no process may start to use the server in between.
        self._app.routed.state.is_ending = True
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(self._on_signal, 0, None)
        time.sleep(PATIENCE)
        os._exit(1)
