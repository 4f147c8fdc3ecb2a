"""Addresses of APIs."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

Origin = tuple[str, str, int | None]
"""Scheme, host and port; the port is None for the scheme's own."""


def without_user(url: str) -> str:
    """Return an address without its user and password.

    Raises:
        ValueError: it is none.
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def origin(url: str) -> Origin:
    """Return where a request to an address goes, as the client that makes it reads the address.

    Raises:
        ValueError: it is none.
    """
    from trialbed.wire._httpx import httpx

    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from error
    return parts.scheme, parts.host, parts.port
