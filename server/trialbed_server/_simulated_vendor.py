"""Serves a vendor that misbehaves by script: ``bench serve --faults``."""

from __future__ import annotations

from trialbed_scripted import serve, serve_until_stopped
from trialbed_server._connections import BoundedConnection
from trialbed_server._options import check_token


def serve_faults(script: str, host: str, port: int, token: str | None = None) -> None:
    """Serve until SIGINT or SIGTERM; prints ``{"url": …}`` when it listens.

    Args:
        script: as ``FaultScript.read`` takes it.
        token: that requests must carry; required beyond loopback.

    Raises:
        UsageError: the script is wrong, there is no token where one is required, or it is too short.
        ServerUnavailable: the address cannot be listened on.
    """
    server = serve(faults=script, host=host, port=port, token=token, kept=0, guard=BoundedConnection)
    check_token(token, host)
    serve_until_stopped(server)
