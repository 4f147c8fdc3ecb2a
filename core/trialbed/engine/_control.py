"""The engine's side of the server's control API."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Hashable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import aiohttp
from pydantic import ValidationError

from trialbed.errors import NothingMeasured, ServerUnavailable, TrialbedError, UsageError
from trialbed.records import EndpointStatus, GoldCall, HelperRole, ModelUse, TrialOpening, TrialRegistration, WireLog
from trialbed.settings import SERVER_TOKEN

RENEWALS = 4
"""Renewals of a lease before it ends, because some may be late or lost."""

TIMEOUT = aiohttp.ClientTimeout(total=60)


def new_trial_token() -> str:
    """Return an unguessable token for a trial's URLs, which have no other protection."""
    return secrets.token_urlsafe(15)


class ControlClient:
    """Opens and closes trials on a server; an async context manager.

    Args:
        url: the server's root, without a trailing slash.
        token: the server's control token; None takes the user's, from the environment.
        lease: seconds after which the server may close the trials opened here, if this process dies. They are renewed
            while it runs. None on a server that ends with this process.
    """

    def __init__(self, url: str, token: str | None = None, *, lease: float | None = None) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._lease = lease
        shared = lease is not None
        self._advice = (
            "Start one with `bench serve`, or leave out --server-url."
            if shared
            else "It was started for this run alone and has ended; the same command goes on."
        )
        self._open: set[str] = set()
        self._setups: dict[Hashable, str] = {}
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        token = self._token or os.environ.get(SERVER_TOKEN)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Workers bound the number of concurrent requests; a limit here could only delay one of them.
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=TIMEOUT, connector=aiohttp.TCPConnector(limit=0), trust_env=False
        )
        if self._lease is not None:
            self._renewing = asyncio.create_task(self._renew(self._lease / RENEWALS))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        await self._session.close()

    async def health(self) -> dict[str, Any]:
        """Returns the server's report on itself.

        Raises:
            ServerUnavailable: nothing answers there, or something else does.
        """
        body = _read_json(await self._request("GET", "/healthz"))
        if not isinstance(body, dict) or body.get("status") != "ok":
            raise ServerUnavailable(f"{self.url} answers, but not as a Trialbed server")
        return body

    async def open_trial(self, registration: TrialRegistration, kind: Hashable = None) -> None:
        """Open a trial.

        Args:
            kind: equal for registrations that differ only in ``trial``, ``seed`` and ``fault_key``. Their common part
                is sent once, with the first. None shares nothing.

        Raises:
            UsageError: the server does not know the model, the simulator or the base URL; lists those it knows.
            NothingMeasured: the server refuses it; says why.
        """
        is_open, setup = False, self._setups.get(kind)
        if setup is not None:  # then it is opened like an earlier trial of its kind
            own = {name: getattr(registration, name) for name in ("trial", "seed", "fault_key")}
            try:
                await self._post_trial(TrialOpening(setup=setup, **own))
                is_open = True
            except _Refused as refused:
                # Unknown if the server was started again, is another worker, or has forgotten the setup.
                if refused.status != 404:
                    raise
        if not is_open:
            lease = registration.lease if self._lease is None else self._lease
            whole = registration.model_copy(update={"lease": lease, "keep": kind is not None})
            opened = _read_json(await self._post_trial(whole))
            if isinstance(opened, dict) and isinstance(opened.get("setup"), str):
                self._setups[kind] = opened["setup"]
        self._open.add(registration.trial)

    async def helper_uses(self) -> Sequence[tuple[HelperRole, ModelUse]]:
        """Return the use that the simulators and the users have made of their models.

        Raises:
            TrialbedError: the server cannot be reached.
        """
        found = _read_json(await self._request("GET", "/control/spending"))
        return [(role, ModelUse.model_validate(use)) for role in ("simulator", "user") for use in found[role]]

    async def _post_trial(self, asked: TrialRegistration | TrialOpening) -> bytes:
        return await self._request("POST", "/control/trials", asked.model_dump_json().encode())

    async def endpoint(self) -> EndpointStatus:
        """Return the state of the models' endpoint; a run cannot go on while it is ``down``.

        Raises:
            TrialbedError: the server cannot be reached.
        """
        return EndpointStatus.model_validate_json(await self._request("GET", "/control/endpoint"))

    async def time_waited(self, trial: str) -> float:
        """Return the seconds that an open trial has spent waiting for failed model requests to be repeated.

        Raises:
            TrialbedError: the server cannot be reached, or the trial is not open.
        """
        return float(json.loads(await self._request("GET", f"/t/{trial}/waited"))["waited"])

    async def call_api(self, trial: str, call: GoldCall) -> None:
        """Call an Api in an open trial; the answer goes into the trial's log.

        Raises:
            TrialbedError: the server cannot be reached, or the trial is not open.
        """
        request = {
            "category": call.api.category,
            "tool_name": call.api.tool_name,
            "api_name": call.api.api_name,
            "tool_input": call.arguments or {},
            "strip": "",
            "toolbench_key": "",
        }
        await self._request("POST", f"/t/{trial}/virtual", json.dumps(request).encode())

    async def close_trial(self, trial: str) -> WireLog:
        """Close a trial and return the server's log of it.

        Raises:
            NothingMeasured: the server's log is lost: it does not answer, or the trial is not open any more.
        """
        self._open.discard(trial)
        body = await self._request("DELETE", f"/control/trials/{trial}")
        try:
            return WireLog.model_validate_json(body)
        except ValidationError as error:
            raise NothingMeasured(f"the server at {self.url} gives no wire log of this version: {error}") from error

    async def _request(self, method: str, path: str, content: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json"} if content else {}
        try:
            async with self._session.request(method, self.url + path, data=content, headers=headers) as reply:
                body = await reply.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ServerUnavailable(
                f"the server at {self.url} cannot be reached: {type(error).__name__}: {error}. {self._advice}"
            ) from error
        if reply.status == 401:
            raise ServerUnavailable(f"the server at {self.url} needs a token: set {SERVER_TOKEN} to it")
        if reply.status == 400:
            raise UsageError(_reason(body))
        if reply.status > 400:
            problem = f"the server at {self.url} refused {method} {path} with {reply.status}: {_reason(body)}"
            raise _Refused(problem, reply.status)
        return body

    async def _renew(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            for trial in tuple(self._open):
                # A lease that is not renewed in time affects only its trial, which finds out when it closes.
                with suppress(TrialbedError):
                    await self._request("PUT", f"/control/trials/{trial}")


class _Refused(NothingMeasured):
    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _reason(body: bytes) -> str:
    parsed = _read_json(body)
    if isinstance(parsed, dict):
        return str(parsed.get("error") or parsed.get("detail") or parsed)
    return body.decode(errors="replace")[:300]
