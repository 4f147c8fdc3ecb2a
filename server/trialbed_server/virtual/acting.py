"""Calls that act, on a trial's world or in the program that opened the trial, and that program's user."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from types import TracebackType
from typing import Any, Self

from trialbed.contracts import ApiRefused, World
from trialbed.records import Api, Failure, Json
from trialbed.texts import record_json
from trialbed.tracebacks import tool_failure
from trialbed_server._aiohttp import aiohttp, read_at_most
from trialbed_server.faults import VirtualAnswer, answer_body
from trialbed_server.simulators.template import argument_problems
from trialbed_server.targets import CallTarget
from trialbed_server.trials import UNLIMITED, HostedWorld, OpenTrial
from trialbed_server.virtual.resolver import broken, error_reply, not_an_object

logger = logging.getLogger(__name__)


def act(world: World, api: Api, target: CallTarget, tool_input: Any, max_answer: float = math.inf) -> VirtualAnswer:
    """Have a world answer a call, which may change it.

    Every failure is an API error, and also a failure of the trial if it is the world's fault. The function does not
    wait, which keeps two calls of a trial from being in the world at the same time.

    Args:
        max_answer: largest answer in bytes; a larger one is an API error.
    """
    if not isinstance(tool_input, dict):
        return not_an_object(target, tool_input)
    problems = argument_problems(api, tool_input) if world.checked else ""
    if problems:
        return error_reply(f"Invalid arguments for {target.path}: {problems}")
    try:
        response = world.call(api, tool_input)
        body = json.dumps({"error": "", "response": response}, allow_nan=False).encode("ascii")
    except ApiRefused as error:
        return error_reply(str(error))
    except Exception as error:
        logger.exception("the world of %s failed", target.path)
        return broken(target, tool_input, error, world)
    if len(body) > max_answer:
        return error_reply(f"{target.path}: the answer is larger than {max_answer} bytes")
    return VirtualAnswer(body, target.simulator.label)


async def act_elsewhere(
    hosted: HostedWorld, target: CallTarget, tool_input: Any, max_answer: float = math.inf
) -> VirtualAnswer | None:
    """Have a foreign world answer a call; None if the trial has no world, or the Api is unknown.

    If the world cannot be made, or does not return, that is a failure of the trial.
    """
    api = target.api
    if api is None:
        return None
    name = f"{target.path}: {type(hosted.code).__name__}"
    try:
        return await hosted.ask(lambda world: act(world, api, target, tool_input, max_answer))
    except Exception as error:
        logger.exception("the world of %s cannot be made, or does not return", target.path)
        failure = tool_failure(name, error, hosted.code)
    return VirtualAnswer(answer_body(failure.message), failure=failure)


NOTICE = 5.0
"""Seconds for a program to report the line of its own code that did not return in time."""


class Callbacks:
    """Ask the programs that opened trials for the answers to calls and to agents; an async context manager.

    Args:
        allowed: whether such programs are asked. Only programs that control trials with a token may make the server
            send requests to an address of their choice.
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
        """Answer a call; if the program does not, that is an API error."""
        if not isinstance(tool_input, dict):
            return not_an_object(target, tool_input)
        asked = {"api": target.ref.model_dump(), "arguments": tool_input}
        try:
            answer = await self._ask(trial, asked, trial.timeout(UNLIMITED) + NOTICE)
        except ApiRefused as error:
            return error_reply(f"{target.path}: {error}")
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            logger.warning("%s: the program that answers for it failed: %s", target.path, error)
            message = f"{target.path}: no answer: {type(error).__name__}: {error}"
            return VirtualAnswer(answer_body(message), failure=Failure(kind="tool", message=message))
        if answer["error"]:
            return error_reply(answer["error"])
        return VirtualAnswer(answer_body("", answer["response"]), answer["provenance"])

    async def next_message(self, trial: OpenTrial) -> str | None:
        """Return the next message of a user that the program plays; None if it ends the conversation."""
        log = await asyncio.to_thread(lambda: record_json(trial.log_so_far()))
        try:
            found: str | None = (await self._ask(trial, {"log": log}))["text"]
        except (aiohttp.ClientError, KeyError, ValueError) as error:
            message = f"the program that plays the user failed: {type(error).__name__}: {error}"
            trial.note_failure(Failure(kind="server", message=message))
            return None
        return found

    async def _ask(self, trial: OpenTrial, asked: dict[str, Json], seconds: float | None = None) -> Any:
        url = trial.registration.callback_url
        if self._session is None or url is None:
            raise ApiRefused("this server knows no program that answers for it")
        body = {"trial": trial.registration.trial, **asked}
        async with self._session.post(url, json=body, timeout=aiohttp.ClientTimeout(total=seconds)) as reply:
            reply.raise_for_status()
            found = await read_at_most(reply, self._max_answer)
        if found is None:
            raise ApiRefused(f"the answer is larger than {self._max_answer} bytes")
        return json.loads(found)
