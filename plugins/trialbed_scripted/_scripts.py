"""Scripts: the turns of a model in order."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from trialbed.wire import Call
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import Response
from trialbed_scripted._turns import Turn, ask, say

AFTER_THE_END = "The script has ended."
"""The text of a model that is asked more often than its script has lines."""

Said = Turn | Response

Model = Callable[[ReceivedRequest], Said | Awaitable[Said]]
"""Answers a request. A script is one, and so is a policy or any function."""


@dataclass(frozen=True)
class Forever:
    """A line that is repeated for every further request."""

    line: Said


Line = str | Call | Said | Forever | Callable[[Any], Said | Awaitable[Said]]
"""One line of a script: a text, a call, a turn of several calls, a response, or a function that makes the turn."""


class Script:
    """A model that says its lines in order, one for each request."""

    def __init__(self, *lines: Line) -> None:
        self._lines = [line if isinstance(line, Forever) or callable(line) else read_line(line) for line in lines]
        self._next = 0
        self._given: dict[int, int] = {}

    async def __call__(self, request: Any) -> Said:
        """Return the next line; a request that met a fault and is sent again gets the same line again."""
        place = self._next
        if isinstance(request, ReceivedRequest):
            body = hash(request.body)
            place = self._given.get(body, place) if request.repeats else place
            self._given[body] = place
        if place >= len(self._lines):
            return say(AFTER_THE_END)
        line = self._lines[place]
        if isinstance(line, Forever):
            return line.line
        self._next = max(self._next, place + 1)
        return line if isinstance(line, Turn | Response) else await ask_model(line, request)


def script(*lines: Line) -> Script:
    """Return a model that says these lines: ``script(call("find", id=7), say("done"))``."""
    return Script(*lines)


def forever(line: str | Call | Said) -> Forever:
    """Repeat a line for every request from here on."""
    return Forever(read_line(line))


def read_line(line: str | Call | Said) -> Said:
    """Read a text or a call as a turn; leave a turn or a response as it is."""
    if isinstance(line, str):
        return say(line)
    return ask(line) if isinstance(line, Call) else line


async def ask_model(model: Callable[[Any], Said | Awaitable[Said]], request: Any) -> Said:
    """Ask a model, which may be asynchronous."""
    found = model(request)
    return await found if inspect.isawaitable(found) else found
