"""Calls of Apis that act on a trial's world."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

from trialbed.contracts import ApiRefused, World
from trialbed.own_thread import StuckCode
from trialbed.records import Api
from trialbed.tracebacks import tool_failure, tool_stuck
from trialbed_server.simulators.template import argument_problems
from trialbed_server.targets import CallTarget
from trialbed_server.trials import HostedWorld
from trialbed_server.virtual.resolver import VirtualAnswer, error_body, error_reply
from trialbed_server.virtual.sources import ToolBroken, broken

logger = logging.getLogger(__name__)


def act(world: World, api: Api, target: CallTarget, tool_input: Any, max_answer: float = math.inf) -> VirtualAnswer:
    """Have a world answer a call, which may change it.

    Whatever goes wrong is an API error, and a failure of the trial where it is the world's fault. It does not wait, so
    that no two calls of a trial are in it at once.

    Args:
        max_answer: largest answer in bytes; a larger one is an API error.
    """
    if not isinstance(tool_input, dict):
        return error_reply(f"{target.path}: tool_input must be a JSON object, this is a {type(tool_input).__name__}")
    problems = argument_problems(api, tool_input) if world.checked else ""
    if problems:
        return error_reply(f"Invalid arguments for {target.path}: {problems}")
    try:
        response = world.call(api, tool_input)
        body = json.dumps({"error": "", "response": response}, allow_nan=False).encode("ascii")
    except ApiRefused as error:
        return VirtualAnswer(error_body(str(error)), "")
    except Exception as error:
        logger.exception("the world of %s failed", target.path)
        found = broken(target, tool_input, error, world)
        return VirtualAnswer(error_body(str(found)), "", found.failure if isinstance(found, ToolBroken) else None)
    if len(body) > max_answer:
        return error_reply(f"{target.path}: the answer is larger than {max_answer} bytes")
    return VirtualAnswer(body, target.simulator.label)


async def act_elsewhere(
    hosted: HostedWorld, target: CallTarget, tool_input: Any, max_answer: float = math.inf
) -> VirtualAnswer | None:
    """Have a foreign world answer a call; None where the trial has none, or the Api is not known.

    That it cannot be made, or does not return, is a failure of the trial.
    """
    api = target.api
    if api is None:
        return None
    name = f"{target.path}: {type(hosted.code).__name__}"
    try:
        return await hosted.ask(lambda world: act(world, api, target, tool_input, max_answer))
    except StuckCode as stuck:
        failure = tool_stuck(name, stuck)
    except Exception as error:
        logger.exception("the world of %s cannot be made", target.path)
        failure = tool_failure(name, error, hosted.code)
    return VirtualAnswer(error_body(failure.message), "", failure)
