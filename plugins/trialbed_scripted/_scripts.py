"""Scripts: the turns of a model in order."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from trialbed.errors import UsageError
from trialbed.wire import Call, ModelRequest
from trialbed_scripted._requests import ReceivedRequest
from trialbed_scripted._responses import Response
from trialbed_scripted._turns import ModelTurn, ask, say

AFTER_THE_END = "The script has ended."
"""The model's text after the last line of its script."""

FORMS = "a line is a text, call(…), ask(…), say(…), fail(…), a Response, or a function that returns one of these"

Said = ModelTurn | Response

Sayable = str | Call | Said
"""A text, a call, a turn with several calls, or a response."""

Model = Callable[[ReceivedRequest], Sayable | Awaitable[Sayable]]
"""Answers a request. Scripts, policies and functions are models."""


@dataclass(frozen=True)
class Forever:
    """A line that is repeated for every further request."""

    line: Said


Line = Sayable | Forever | Callable[[Any], Sayable | Awaitable[Sayable]]
"""One line of a script, or a function that makes it."""


class Script:
    """A model that says its lines in order, one for each request."""

    def __init__(self, *lines: Line) -> None:
        self._lines = [line if isinstance(line, Forever) or callable(line) else read_line(line) for line in lines]
        if any(isinstance(line, Forever) for line in self._lines[:-1]):
            raise UsageError("no line of a script is reached after forever(…): it is the last")
        self._next = 0
        self._given: dict[int, int] = {}

    async def __call__(self, request: Any) -> Said:
        """Return the next line. A request that is sent again after a fault gets its line again.

        Raises:
            UsageError: the model of ``trialbed.evaluate`` has no lines left, or its line fails a request.
        """
        place = self._next
        if isinstance(request, ReceivedRequest):
            body = hash(request.body)
            place = self._given.get(body, place) if request.repeats else place
            self._given[body] = place
        if place >= len(self._lines):
            if isinstance(request, ModelRequest):
                raise UsageError(f"the script has no further turn: it has {len(self._lines)} for all trials")
            return say(AFTER_THE_END)
        line = self._lines[place]
        if isinstance(line, Response) and isinstance(request, ModelRequest):
            raise UsageError("a script that fails a request needs a server: trialbed_scripted.serve")
        if isinstance(line, Forever):
            return line.line
        self._next = max(self._next, place + 1)
        return line if isinstance(line, ModelTurn | Response) else await ask_model(line, request)


def script(*lines: Line) -> Script:
    """Return a model that says these lines: ``script(call("find", id=7), say("done"))``.

    Raises:
        UsageError: an argument is not a line, or follows a repeated line.
    """
    return Script(*lines)


def forever(line: Sayable) -> Forever:
    """Repeat a line for every request from here on.

    Raises:
        UsageError: the argument is a function, or not a line.
    """
    return Forever(read_line(line))


def read_line(line: Sayable) -> Said:
    """Turn a text or a call into a turn. Turns and responses stay unchanged.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(line, str):
        return say(line)
    if not isinstance(line, Call | ModelTurn | Response):
        raise UsageError(f"{line!r:.60} is no line of a script; {FORMS}")
    return ask(line) if isinstance(line, Call) else line


async def ask_model(model: Callable[[Any], Sayable | Awaitable[Sayable]], request: Any) -> Said:
    """Ask a model, which may be asynchronous.

    Raises:
        UsageError: it returns something other than a line.
    """
    found = model(request)
    found = await found if inspect.isawaitable(found) else found
    try:
        return read_line(found)
    except UsageError as error:
        name = getattr(model, "__name__", type(model).__name__)
        raise UsageError(f"{name}() of the script returned no line: {error}") from None
