"""Network addresses, the headers that carry an endpoint's key, and the limits on those of its answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

SCRIPT = "trialbed-script"
"""The model that an endpoint with a script lists. It answers to any name, and each request takes a line."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: ``localhost``, a name below it (RFC 6761), or a loopback address."""
    address = _address(host.strip("[]"))
    return address.is_loopback if address else host == "localhost" or host.endswith(".localhost")


class HostNames:
    """The names that a request's ``Host`` may have on a server.

    A web page can change its own name to point to this machine (DNS rebinding) and would then read the server's
    answers. Its requests carry that name.

    Args:
        names: further names, in addition to loopback's.
        addresses: whether every IP address is allowed, which no page can take for its name.
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
        return not host or name in self._names or is_loopback(name) or (self._addresses and _address(name) is not None)


def _address(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(name)
    return None


def mcp_url(server_url: str) -> str:
    """Return the URL of a trial's tools over the Model Context Protocol (streamable HTTP).

    Args:
        server_url: the trial's virtual API, as ``BaseAgent.bind_tools`` gets it.
    """
    return f"{server_url.removesuffix('/virtual')}/mcp"


_NAMED = re.compile(r"@(?=https?://)")


def split_address(model: str) -> tuple[str, str | None]:
    """Split ``NAME@URL``, a model at its own endpoint; the address is None if the name does not have it."""
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


KEYED = frozenset(("anthropic-version", "x-api-key"))
"""Headers that show a dialect with its own header for the key, in addition to the bearer token."""

ANTHROPIC = "anthropic.com"
"""The host that, like its subdomains, refuses a key sent as bearer token."""


def key_headers(url: str, key: str | None, sent: Iterable[str]) -> dict[str, str]:
    """Return the headers with the key for a request.

    Args:
        url: of the endpoint.
        key: the key; None adds no header.
        sent: names of the request's headers.
    """
    if not key:
        return {}
    bearer, own = {"Authorization": f"Bearer {key}"}, {"X-Api-Key": key}
    if KEYED.isdisjoint(name.lower() for name in sent):
        return bearer
    host = urlsplit(url).hostname or ""
    return own if host == ANTHROPIC or host.endswith(f".{ANTHROPIC}") else bearer | own


LONGEST_HEADER = 64 * 2**10
"""Bytes of one header; some proxies send policies longer than the usual 8 KiB."""

MOST_HEADERS = 4096
"""Headers of one answer. The usual limit is 128; some gateways add one per policy."""


def answer_limits() -> dict[str, Any]:
    """Return the arguments of ``aiohttp.ClientSession`` for these limits."""
    from inspect import signature

    from aiohttp import ClientSession

    limits: dict[str, Any] = {"max_line_size": LONGEST_HEADER, "max_field_size": LONGEST_HEADER}
    # Earlier versions have no limit of the number.
    if "max_headers" in signature(ClientSession).parameters:
        limits["max_headers"] = MOST_HEADERS
    return limits
