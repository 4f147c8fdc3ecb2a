"""HTTP sessions: the connections and headers for the requests to one target."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import aiohttp

from trialbed.errors import DriverBroken, TrialbedError
from trialbed.wire.answer_limits import answer_limits
from trialbed.wire.redaction import redact
from trialbed_verify.verification.exchange import Exchange
from trialbed_verify.verification.targets import HEADER_NAME, Proxy, Target, VerifyOptions, is_secret_header

ENCODINGS = "gzip, deflate"
"""Requested whichever codecs are installed, so that a vendor answers alike everywhere."""


def new_session(concurrency: int) -> aiohttp.ClientSession:
    """A session with one connection per request in flight, without cookies or timeouts of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=concurrency, limit_per_host=0),
        headers={"Accept-Encoding": ENCODINGS},
        timeout=aiohttp.ClientTimeout(total=None),
        # Bodies are unpacked where it shows whether they are whole.
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        **answer_limits(),
        # The proxy is given per request, and keys do not come from .netrc.
        trust_env=False,
    )


def exchange_with(target: Target, session: aiohttp.ClientSession, options: VerifyOptions) -> Exchange:
    """The exchange that makes attempts at a target.

    Raises:
        DriverBroken: the vendor's driver fails to make headers, or makes some that cannot be sent.
    """
    headers, proxy_settings = _headers(target), dict[str, Any]()
    if target.proxy is not None:
        proxy_settings["proxy"] = target.proxy.url
        if target.url.startswith("https:"):
            # The tunnel takes a request of its own, which the vendor does not see.
            proxy_settings["proxy_headers"] = _login(target.proxy)
        else:
            headers |= _login(target.proxy)
    return Exchange(session, target.url, headers, options.timeout, proxy_settings)


def _headers(target: Target) -> dict[str, str]:
    """The vendor's headers. Errors do not show values, as one of them is the key."""
    try:
        headers = dict(target.vendor.headers(target.api_key))
    except TrialbedError:
        raise
    except Exception as error:
        text = redact(f"{type(error).__name__}: {error}", target.secrets)
        raise DriverBroken(f"{target.name}: the vendor's driver failed to make request headers: {text}") from error
    for name, value in headers.items():
        if not (isinstance(name, str) and HEADER_NAME.fullmatch(name)):
            raise DriverBroken(f"{target.name}: the vendor's driver makes a header whose name is not valid")
        if not (isinstance(value, str) and value.isprintable()):
            raise DriverBroken(f"{target.name}: the vendor's driver makes a header {name} that is not one line of text")
    # Names of headers do not depend on the case of letters.
    own = {name.lower() for name in target.headers}
    if not target.api_key:
        headers = {name: value for name, value in headers.items() if not is_secret_header(name)}
    return {**{name: value for name, value in headers.items() if name.lower() not in own}, **target.headers}


def _login(proxy: Proxy) -> dict[str, str]:
    if proxy.login is None:
        return {}
    return {"Proxy-Authorization": f"Basic {b64encode(':'.join(proxy.login).encode()).decode()}"}
