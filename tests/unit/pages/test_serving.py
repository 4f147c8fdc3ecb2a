"""Where pages are served."""

from __future__ import annotations

import socket

import pytest

from trialbed.errors import UsageError
from trialbed_pages.serving import _listening_socket


def test_a_port_is_taken_from_the_moment_it_is_said_to_be_served() -> None:
    """Two that were started at the same moment both said that their pages are there, and one of them hung."""
    with _listening_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        with pytest.raises(
            UsageError, match=f"cannot listen on 127.0.0.1, port {port}: .*; choose another with --host or --port"
        ):
            _listening_socket("127.0.0.1", port)
