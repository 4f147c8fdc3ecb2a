"""The addresses that this process contacts."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any, Self

from trialbed.wire.addresses import is_loopback

LOOK_UPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
MESSAGES = ("socket.connect", "socket.sendto", "socket.sendmsg")
OWN_NAMES = ("", "localhost", "localhost.localdomain", "ip6-localhost")


class NetworkWatch:
    """Notes every address that this process looks up or connects to, while it is entered.

    It sees what goes through Python's ``socket``; code that opens sockets without it (``uvloop``, gRPC) is
    seen only where it looks names up through Python.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[tuple[str, int | None]] = []

    def contacts(self, *known: tuple[str, int]) -> list[str]:
        """Return the contacted addresses, each once, except these and the machine's own names."""
        with self._lock:
            seen = list(dict.fromkeys(self._seen))
        return [_format_contact(host, port) for host, port in seen if not _is_expected(host, port, known)]

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record one audit event of ``socket``."""
        host, port = _look_up(arguments) if event in LOOK_UPS else _connection(arguments)
        if host is not None:
            with self._lock:
                self._seen.append((host, port))

    def __enter__(self) -> Self:
        _watches.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _watches.leave(self)


class _Watches:
    """The one audit hook of the process, and its listeners: an audit hook can be added, but never removed."""

    def __init__(self) -> None:
        self._active: tuple[NetworkWatch, ...] = ()
        self._hooked = False
        self._lock = threading.Lock()

    def enter(self, watch: NetworkWatch) -> None:
        with self._lock:
            if not self._hooked:
                sys.addaudithook(self._on_event)
                self._hooked = True
            self._active = (*self._active, watch)

    def leave(self, watch: NetworkWatch) -> None:
        with self._lock:
            self._active = tuple(other for other in self._active if other is not watch)

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._active and event.startswith("socket.") and event in (*LOOK_UPS, *MESSAGES):
            for watch in self._active:
                watch.note(event, arguments)


_watches = _Watches()


def _look_up(arguments: tuple[Any, ...]) -> tuple[str | None, int | None]:
    host = arguments[0]
    return (host.decode(errors="replace") if isinstance(host, bytes) else host), None


def _connection(arguments: tuple[Any, ...]) -> tuple[str | None, int | None]:
    """Return host and port; no host for a local socket (a path), or one that is already connected."""
    address = arguments[1] if len(arguments) > 1 else None
    if isinstance(address, tuple) and len(address) >= 2:
        return str(address[0]), int(address[1])
    return None, None


def _is_expected(host: str, port: int | None, known: tuple[tuple[str, int], ...]) -> bool:
    if port is None:
        return host in OWN_NAMES or is_loopback(host)
    return (host, port) in known


def _format_contact(host: str, port: int | None) -> str:
    return f"look-up of {host}" if port is None else f"connection to {host}:{port}"
