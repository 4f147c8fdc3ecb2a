"""Network addresses."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: ``localhost``, a name below it (RFC 6761), or a loopback address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def mcp_url(server_url: str) -> str:
    """The URL of a trial's tools over the Model Context Protocol (streamable HTTP).

    Args:
        server_url: the trial's virtual API, as ``BaseAgent.bind_tools`` gets it.
    """
    return f"{server_url.removesuffix('/virtual')}/mcp"
