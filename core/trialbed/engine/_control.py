"""The engine's side of the server's control API."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self

import httpx

from trialbed.errors import NothingMeasured, ServerUnavailable, UsageError
from trialbed.records import TrialRegistration, WireLog

TOKEN_VARIABLE = "TRIALBED_SERVER_TOKEN"  # noqa: S105 - the variable's name, not a token


class ControlClient:
    """Opens and closes trials on a server.

    Args:
        url: the server's root, without a trailing slash.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        token = os.environ.get(TOKEN_VARIABLE)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60.0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def health(self) -> dict[str, Any]:
        """What the server says of itself.

        Raises:
            ServerUnavailable: nothing answers there, or something else does.
        """
        body = (await self._request("GET", "/healthz")).json()
        if not isinstance(body, dict) or body.get("status") != "ok":
            raise ServerUnavailable(f"{self.url} answers, but not as a Trialbed server")
        return body

    async def open_trial(self, registration: TrialRegistration) -> None:
        """Open a trial.

        Raises:
            UsageError: the model, the simulator or the base URL is none that the server knows; says which there are.
            NothingMeasured: the server refuses it; says why.
        """
        await self._request("POST", "/control/trials", registration.model_dump_json().encode())

    async def close_trial(self, trial: str) -> WireLog:
        """Close a trial and return all that the server saw of it."""
        reply = await self._request("DELETE", f"/control/trials/{trial}")
        return WireLog.model_validate_json(reply.content)

    async def _request(self, method: str, path: str, content: bytes | None = None) -> httpx.Response:
        headers = {"Content-Type": "application/json"} if content else {}
        try:
            reply = await self._client.request(method, path, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise ServerUnavailable(
                f"the server at {self.url} cannot be reached: {type(error).__name__}: {error}. "
                "Start one with `bench serve`, or leave out --server-url."
            ) from error
        if reply.status_code == 401:
            raise ServerUnavailable(f"the server at {self.url} wants a token: set {TOKEN_VARIABLE} to it")
        if reply.status_code == 400:
            raise UsageError(_reason(reply))
        if reply.is_error:
            raise NothingMeasured(f"the server at {self.url} refused {method} {path}: {_reason(reply)}")
        return reply


def _reason(reply: httpx.Response) -> str:
    try:
        body = reply.json()
    except ValueError:
        return f"{reply.status_code} {reply.text[:300]}"
    return str(body.get("error") or body.get("detail") or body) if isinstance(body, dict) else str(body)
