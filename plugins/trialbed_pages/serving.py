"""Serve the pages until the program is stopped."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import click
import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from trialbed.errors import DataError, ServerUnavailable
from trialbed.store import open_store
from trialbed.wire.addresses import HostNames, is_loopback
from trialbed_pages.app import create_app
from trialbed_pages.files import FilePage


def serve(
    host: str,
    port: int,
    store: str | None,
    data_dir: Path | None,
    files: Sequence[Path] = (),
    *,
    in_browser: bool,
    allow_hosts: Sequence[str] = (),
) -> None:
    """Serve the pages, and print their address on standard error.

    Args:
        files: result files and folders of them; without any, there must be a store.
        allow_hosts: further names of this machine that browsers may use, in addition to loopback's and ``host``.

    Raises:
        ServerUnavailable: the address cannot be used.
        UsageError: a file cannot be shown.
        DataError: there is no store, or it cannot be read.
    """
    pages = FilePage(files)
    pages.check()
    for path in pages.empty_files():
        click.echo(f"{path} has no rows, so no page shows it", err=True)
    place = _place(store, files)
    listening = _listening_socket(host, port)
    shown = f"[{host}]" if ":" in host else host
    root = f"http://{shown}:{listening.getsockname()[1]}/"
    address = f"{root}files" if files else root
    click.echo(f"pages of {place}: {address} (stop with Ctrl-C)", err=True)
    if in_browser:
        opened = address if files else f"{root}latest"
        if not webbrowser.open(opened):
            click.echo(f"no browser could be opened; the page is {opened}", err=True)
    # Beyond loopback, the pages are asked for under addresses too.
    names = HostNames((host, *allow_hosts), addresses=not is_loopback(host))
    app = HostCheck(create_app(store, data_dir, files, writable=is_loopback(host) and not allow_hosts), names)
    settings = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(settings).run(sockets=[listening])


class HostCheck:
    """Rejects requests for other hosts, because a site could point its own name here and read every run."""

    def __init__(self, app: ASGIApp, names: HostNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        host = "" if scope["type"] == "lifespan" else Headers(scope=scope).get("host", "")
        if host in self._names:
            await self._app(scope, receive, send)
            return
        text = (
            f"The request is for the host {host[:100]!r}, which is not a name of these pages; if it is one, start "
            "`bench view` with --allow-host NAME."
        )
        await PlainTextResponse(text, 403)(scope, receive, send)


def _place(store: str | None, files: Sequence[Path]) -> str:
    names = ", ".join(map(str, files))
    try:
        with open_store(store) as reader:
            return ", ".join(filter(None, (reader.place, names)))
    except DataError:
        if store is not None or not files:
            raise
        return names


def _listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket, to know the port before the server runs."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ServerUnavailable(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another with --host or --port"
        ) from error
