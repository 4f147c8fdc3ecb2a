"""The connections to one target."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

import aiohttp

from trialbed.errors import DriverBroken, TrialbedError
from trialbed.secrets import redact
from trialbed_verify.verification.targets import Proxy, Target, VerifyOptions
from trialbed_verify.verification.wire import Exchange, trace

ENCODINGS = "gzip, deflate"
"""Asked for whatever else is installed, so that a vendor answers alike everywhere."""

LONGEST_HEADER = 64 * 2**10
"""Bytes of one header; some proxies send policies of more than the 8 KiB that are usual."""

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""What HTTP allows as the name of a header."""


def new_session(options: VerifyOptions) -> aiohttp.ClientSession:
    """A session with one connection per request under way, no cookies and no time limits of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=options.request_concurrency, limit_per_host=0),
        headers={"Accept-Encoding": ENCODINGS},
        trace_configs=[trace()],
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
        # The environment's proxy is given per request; its .netrc is not for keys.
        trust_env=False,
    )


def exchange_with(target: Target, session: aiohttp.ClientSession, options: VerifyOptions) -> Exchange:
    """What makes attempts at a target.

    Raises:
        DriverBroken: the vendor's driver makes no headers, or some that cannot be sent.
    """
    headers, through = _headers(target), dict[str, Any]()
    if target.proxy is not None:
        through["proxy"] = target.proxy.url
        if target.url.startswith("https:"):
            # The tunnel is asked for in a request of its own, which the vendor does not see.
            through["proxy_headers"] = _login(target.proxy)
        else:
            headers |= _login(target.proxy)
    return Exchange(session, target.url, headers, options.timeout, through)


def _headers(target: Target) -> dict[str, str]:
    """The vendor's own; what is wrong with them is told without their values, as one is the key."""
    try:
        headers = dict(target.vendor.headers(target.api_key))
    except TrialbedError:
        raise
    except Exception as error:
        text = redact(f"{type(error).__name__}: {error}", target.secrets)
        raise DriverBroken(f"{target.name}: its driver failed to make the headers of requests: {text}") from error
    for name, value in headers.items():
        if not (isinstance(name, str) and HEADER_NAME.fullmatch(name)):
            raise DriverBroken(f"{target.name}: its driver makes a header whose name cannot be sent")
        if not (isinstance(value, str) and value.isprintable()):
            raise DriverBroken(f"{target.name}: its driver makes a header {name} that is no text of one line")
    return headers


def _login(proxy: Proxy) -> dict[str, str]:
    if proxy.login is None:
        return {}
    return {"Proxy-Authorization": f"Basic {b64encode(':'.join(proxy.login).encode()).decode()}"}
