"""The connections to one target."""

from __future__ import annotations

import aiohttp

from trialbed.verification._exchange import Exchange, trace
from trialbed.verification._options import VerifyOptions
from trialbed.verification._targets import Target

ENCODINGS = "gzip, deflate"
"""Asked for whatever else is installed, so that a vendor answers alike everywhere."""


def new_session(options: VerifyOptions) -> aiohttp.ClientSession:
    """A session with one connection per request under way, no cookies and no time limits of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=options.request_concurrency, limit_per_host=0),
        headers={"Accept-Encoding": ENCODINGS},
        trace_configs=[trace()],
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        # The environment's proxy is given per request; its .netrc is not for keys.
        trust_env=False,
    )


def exchange_with(target: Target, session: aiohttp.ClientSession, options: VerifyOptions) -> Exchange:
    """What makes attempts at a target."""
    login = aiohttp.BasicAuth(*target.proxy.login) if target.proxy and target.proxy.login else None
    return Exchange(
        session,
        target.url,
        target.vendor.headers(target.api_key),
        options.timeout,
        {"proxy": target.proxy.url, "proxy_auth": login} if target.proxy else {},
    )
