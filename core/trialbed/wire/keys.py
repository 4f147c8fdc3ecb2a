"""The headers in which endpoints take their key."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

KEYED = frozenset(("anthropic-version", "x-api-key"))
"""Headers of requests in whose dialect the key has a header of its own, beside that of a bearer token."""

ANTHROPIC = "anthropic.com"
"""The host, and those below it, where a key as bearer token is taken for one of another kind and refused."""


def key_headers(url: str, key: str | None, sent: Iterable[str]) -> dict[str, str]:
    """Return the headers with the key for a request.

    Args:
        url: of the endpoint.
        key: None for none.
        sent: names of the request's headers.
    """
    if not key:
        return {}
    bearer, own = {"Authorization": f"Bearer {key}"}, {"X-Api-Key": key}
    if KEYED.isdisjoint(name.lower() for name in sent):
        return bearer
    host = urlsplit(url).hostname or ""
    return own if host == ANTHROPIC or host.endswith(f".{ANTHROPIC}") else bearer | own
