"""The names that an endpoint lists at ``/models``."""

from __future__ import annotations

from trialbed.errors import ServerUnavailable
from trialbed.settings import secret_values
from trialbed.tools import tls_for
from trialbed.wire import parse_json
from trialbed.wire.redaction import redact, shown_url

TIMEOUT = 10.0
"""Seconds that an endpoint has to list its models."""

LARGEST = 8 * 2**20
"""Bytes of the list that are read."""

LONGEST = 200
"""Characters of a name; longer ones are left out."""


def list_names(base_url: str, key: str | None) -> tuple[str, ...]:
    """The names in an endpoint's list, sorted.

    Raises:
        ServerUnavailable: it gives no list; says why.
    """
    import httpx  # most commands need no client

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url, body = f"{base_url.rstrip('/')}/models", b""
    try:
        with (
            httpx.Client(timeout=TIMEOUT, verify=tls_for(base_url)) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > LARGEST:
                    raise ServerUnavailable(f"{shown_url(base_url)}: its list of models has more than {LARGEST} bytes")
    except httpx.HTTPError as error:
        reason = redact(f"{type(error).__name__}: {error}", secret_values())
        raise ServerUnavailable(f"{shown_url(base_url)}: its models cannot be listed: {reason}") from error
    if answer.status_code != 200:
        raise ServerUnavailable(
            f"{shown_url(base_url)}: its models cannot be listed: /models is answered with {answer.status_code}"
        )
    return tuple(sorted(_names(body, shown_url(base_url))))


def _names(body: bytes, url: str) -> set[str]:
    try:
        document = parse_json(body)
    except ValueError as error:
        raise ServerUnavailable(f"{url}: its list of models is not JSON: {error}") from error
    entries = document.get("data") if isinstance(document, dict) else None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {name for name in names if isinstance(name, str) and 0 < len(name) <= LONGEST}
