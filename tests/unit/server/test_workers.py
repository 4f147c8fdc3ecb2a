"""Workers of the server on systems that lack what they need."""

from __future__ import annotations

import socket

import pytest

from trialbed.errors import UsageError
from trialbed_server._options import ServerOptions
from trialbed_server._workers import Workers


def test_workers_need_unix_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with socket.socket() as listener, pytest.raises(UsageError, match="--workers needs UNIX sockets"):
        Workers(ServerOptions(workers=2), listener, lambda *_: None)
