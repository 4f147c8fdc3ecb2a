"""Calls of Apis that the program answers which opened the trial."""

from __future__ import annotations

import json
import logging
from types import TracebackType
from typing import Any, Self

from trialbed.records import Failure
from trialbed_server._aiohttp import aiohttp
from trialbed_server.targets import CallTarget
from trialbed_server.trials import OpenTrial
from trialbed_server.virtual.resolver import VirtualAnswer, error_body, error_reply

logger = logging.getLogger(__name__)

UNLIMITED = 3600.0
"""Seconds that an answer may take where the trial has no limits."""


class Callbacks:
    """Asks the programs that opened trials for the answers to calls; an async context manager.

    Args:
        allowed: whether such programs are asked: those that control trials with a token, and nobody else, may have the
            server send requests to an address of theirs.
        max_answer: largest answer in bytes.
    """

    def __init__(self, *, allowed: bool, max_answer: int) -> None:
        self._allowed = allowed
        self._max_answer = max_answer
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        if self._allowed:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(self, trial: OpenTrial, target: CallTarget, tool_input: Any) -> VirtualAnswer:
        """The answer to a call; that there is none is an API error."""
        if not isinstance(tool_input, dict):
            return error_reply(
                f"{target.path}: tool_input must be a JSON object, this is a {type(tool_input).__name__}"
            )
        url = trial.registration.callback_url
        if self._session is None or url is None:
            return error_reply(f"{target.path}: this server knows no program that answers for it")
        asked = {"trial": trial.registration.trial, "api": target.ref.model_dump(), "arguments": tool_input}
        timeout = aiohttp.ClientTimeout(total=trial.timeout(UNLIMITED))
        try:
            async with self._session.post(url, json=asked, timeout=timeout) as reply:
                reply.raise_for_status()
                body = bytearray()
                async for part in reply.content.iter_any():
                    body += part
                    if len(body) > self._max_answer:
                        return error_reply(f"{target.path}: the answer is larger than {self._max_answer} bytes")
            answer = json.loads(body)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            logger.warning("%s: the program that answers for it failed: %s", target.path, error)
            message = f"{target.path}: no answer: {type(error).__name__}: {error}"
            return VirtualAnswer(error_body(message), "", Failure(kind="tool", message=message))
        if answer["error"]:
            return VirtualAnswer(error_body(answer["error"]), "")
        return VirtualAnswer(
            json.dumps({"error": "", "response": answer["response"]}).encode("ascii"), answer["provenance"]
        )
