"""Network addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: ``localhost``, a name below it (RFC 6761), or a loopback address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class HostNames:
    """The names under which a server may be asked for, by the ``Host`` of a request.

    A web page whose own name is changed to point to this machine (DNS rebinding) may read the server's answers; its
    requests are for that name.

    Args:
        names: beside those of loopback.
        addresses: whether every IP address is one, which no page can take for its name.
    """

    def __init__(self, names: Iterable[str], *, addresses: bool = False) -> None:
        self._names = frozenset(name.lower().strip("[]") for name in names)
        self._addresses = addresses

    def __contains__(self, host: str) -> bool:
        """Return whether the server is named; tools other than browsers may leave the name out."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        return not host or name in self._names or is_loopback(name) or (self._addresses and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def mcp_url(server_url: str) -> str:
    """The URL of a trial's tools over the Model Context Protocol (streamable HTTP).

    Args:
        server_url: the trial's virtual API, as ``BaseAgent.bind_tools`` gets it.
    """
    return f"{server_url.removesuffix('/virtual')}/mcp"


_NAMED = re.compile(r"@(?=https?://)")


def split_address(model: str) -> tuple[str, str | None]:
    """Split ``NAME@URL``, a model at an endpoint of its own; the address is None where the name has none."""
    *names, url = _NAMED.split(model)
    return ("@".join(names), url.rstrip("/")) if names else (model, None)


def short_address(model: str) -> str:
    """Return a model's name, with the host of the endpoint that it names, if any: ``NAME@HOST``."""
    name, url = split_address(model)
    if url is None:
        return name
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]  # without its user and password
    return f"{name}@{host}{parts.path.removesuffix('/v1')}"
