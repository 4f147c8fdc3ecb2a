"""A check of a plugin, its subject, and how its code is called: within a time, and with its line where it fails."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.own_thread import OwnLoop, StuckCode, do_alone
from trialbed.tracebacks import own_line
from trialbed_adapter_lab.conformance import expect
from trialbed_adapter_lab.differences import shorten, show
from trialbed_adapter_lab.errors import CheckFailed

SECONDS = 10.0
"""That one call of a plugin may take."""


@dataclass(frozen=True)
class PluginSubject:
    """The plugin that is checked.

    Attributes:
        kind: of driver, or ``plugins``.
        name: that it goes by.
        thing: its class; the module of a plugin with hooks.
        version, distribution: of what brings it.
        part: follows its name: a test set, or a model.
    """

    kind: str
    name: str
    thing: Any
    version: str = ""
    distribution: str = ""
    part: str = ""
    loop: OwnLoop = field(default_factory=OwnLoop, compare=False, repr=False)

    @property
    def module(self) -> str:
        """The module whose lines are named."""
        return str(getattr(self.thing, "__module__", None) or getattr(self.thing, "__name__", ""))

    async def call(
        self,
        what: str,
        function: Callable[..., Any],
        *arguments: Any,
        allowed: tuple[type[Exception], ...] = (),
        seconds: float | None = None,
        **named: Any,
    ) -> Any:
        """Return the result of a function of the plugin, whether or not it is async.

        Args:
            what: is expected of it, in words.
            allowed: exceptions that it may raise, which are passed on.
            seconds: that it may take; None for as many as any call.

        Raises:
            CheckFailed: it raises another one, or does not return in time.
        """
        limit = SECONDS if seconds is None else seconds
        try:
            if inspect.iscoroutinefunction(function):
                return await self.loop.do(lambda: function(*arguments, **named), limit, self.module)
            value = await do_alone(lambda: function(*arguments, **named), limit, function)
            return await self.loop.do(lambda: value, limit, self.module) if inspect.isawaitable(value) else value
        except allowed:
            raise
        except StuckCode as stuck:
            raise CheckFailed(f"expected {what}; seen: {stuck}") from stuck
        except Exception as error:
            said = shorten(f"{type(error).__name__}: {error}")
            raise CheckFailed(f"expected {what}; seen: {said}{own_line(self.module, error)}") from error


def expect_kind(what: str, value: Any, kind: type) -> None:
    """Fail unless a value is of a type.

    Raises:
        CheckFailed: it is not.
    """
    if not isinstance(value, kind):
        shown = show(value) if not isinstance(value, type) else repr(value)
        raise CheckFailed(f"expected {what} to be a {kind.__name__}; seen: {type(value).__name__}: {shown}")


def expect_json(what: str, value: Any) -> None:
    """Fail unless a value can be written as JSON.

    Raises:
        CheckFailed: it cannot.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CheckFailed(f"expected {what} to be JSON; seen: {error}") from error


async def expect_usage_error(subject: PluginSubject, what: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Fail unless a function of the plugin raises a UsageError, or a DataError, with a text.

    Raises:
        CheckFailed: it does not.
    """
    try:
        found = await subject.call("a UsageError", function, *arguments, allowed=(UsageError, DataError))
    except (UsageError, DataError) as error:
        expect(bool(str(error).strip()), "a text that says what there is", "none")
    else:
        expect(False, f"a UsageError for {what}", repr(found))
