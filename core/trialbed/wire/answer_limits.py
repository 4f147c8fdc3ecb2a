"""Limits on the headers of an endpoint's answer, wider than HTTP clients set them by default."""

from __future__ import annotations

from typing import Any

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
