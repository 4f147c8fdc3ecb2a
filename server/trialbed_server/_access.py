"""Check bearer tokens, host names and the origins of web pages before requests are served."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from functools import lru_cache

from starlette.responses import Response
from starlette.types import Scope

from trialbed.wire.addresses import HostNames
from trialbed_server._http import error_response

TRIALS = "/t/"
"""The path prefix of trials' URLs; the trial's token in the path is their guard."""

HEALTH = "/healthz"
UNTAGGED = ("/virtual", "/v1/")
"""Paths of requests without a trial's token, which may belong to the ambient trial."""


class TokenCheck:
    """Admit requests that carry a token. ``/healthz`` and a trial's own URLs do not require it.

    Args:
        open_paths: the beginnings of further paths that do not require it.
    """

    def __init__(self, token: str, open_paths: tuple[str, ...] = ()) -> None:
        self._expected = f"Bearer {token}".encode()
        self._open = (TRIALS, *open_paths)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused; None if it is not."""
        path = scope["path"]
        if path == HEALTH or path.startswith(self._open) or self._is_authorized(scope):
            return None
        message = "this server needs a bearer token: send the header Authorization: Bearer <token>"
        response = error_response(path, message, 401, "authentication_error")
        response.headers["www-authenticate"] = "Bearer"
        return response

    def _is_authorized(self, scope: Scope) -> bool:
        """Return whether a request sends the token.

        Anthropic's SDKs send the key in another header, and may send something else in the usual one. Either proves
        that the sender knows the token. A repeated header is refused: a proxy may have checked the other value.
        """
        bearer = [value for name, value in scope["headers"] if name == b"authorization"]
        keys = [b"Bearer " + value for name, value in scope["headers"] if name == b"x-api-key"]
        if len(bearer) > 1 or len(keys) > 1:
            return False
        return any(hmac.compare_digest(value, self._expected) for value in bearer + keys)


class SiteCheck:
    """Reject requests that web pages make a browser send to a server without a token.

    A page of another origin cannot read the answers, but its requests would reach the model and be paid for. A page
    that changes its own name to point here (DNS rebinding) could read them too. The check recognises the first by
    their ``Origin`` and the second by their ``Host``. A trial's own URLs need no such check: pages do not
    know their token.

    Args:
        host: the address that the server listens on.
        hosts: further names of the server.
    """

    def __init__(self, host: str, hosts: Iterable[str]) -> None:
        names = HostNames((host, *hosts))
        # Clients repeat the same name with every request.
        self._is_own = lru_cache(maxsize=64)(names.__contains__)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused; None if it is not."""
        problem = self.problem(scope)
        return None if problem is None else error_response(scope["path"], problem, 403, "permission_error")

    def problem(self, scope: Scope) -> str | None:
        """Return the reason why a request is refused; None if it is not."""
        if scope["path"].startswith(TRIALS):
            return None
        host, origin, site, mode = _headers(scope)
        if not self._is_own(host):
            return (
                f"the request is for the host {host[:100]!r}, which is not a name of this server; if it is one, start "
                "the server with --allow-host NAME"
            )
        foreign = origin not in (f"http://{host}", f"https://{host}") if origin else site == "cross-site"
        # A link on another site may lead here: that request only shows a page.
        if not foreign or (not origin and mode == "navigate"):
            return None
        return f"the request was sent by a web page of another origin ({origin[:100] or 'not named'})"


def _headers(scope: Scope) -> tuple[str, str, str, str]:
    found = {b"host": "", b"origin": "", b"sec-fetch-site": "", b"sec-fetch-mode": ""}
    for name, value in scope["headers"]:
        if name in found:
            found[name] = value.decode("latin-1").lower()
    host, origin, site, mode = found.values()
    return host, origin, site, mode
