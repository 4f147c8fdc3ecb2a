"""A check: one thing an adapter must, should or may do, why, and what to do if it does not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from trialbed_adapter_kit._stage import Stage

Level = Literal["must", "should", "may"]
"""How much depends on a check.

``must``: without it, numbers about the framework would be wrong; it cannot be declared away.
``should``: it fails unless the adapter's ``capabilities`` declare it.
``may``: it is observed and reported, and never fails.
"""

LEVELS: tuple[Level, ...] = get_args(Level)

Performance = Callable[["Stage"], Awaitable[None]]
"""Plays trials on a stage; raises ``CheckFailed`` where the adapter does not do what it is to do."""


class CheckFailed(AssertionError):
    """The adapter does not do what the check asks for; says what was expected and what was seen."""


@dataclass(frozen=True)
class Check:
    """One check of the kit.

    Attributes:
        name: unique; what ``Deviation.check`` and the command line name.
        reason: why the rig needs it, in a sentence.
        hint: what usually makes an adapter pass.
        play: the check itself.
    """

    name: str
    level: Level
    reason: str
    hint: str
    play: Performance

    @property
    def theme(self) -> str:
        """The part of the kit that it belongs to: ``calls``, ``arguments``, ``limits`` and so on."""
        return self.play.__module__.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """What is checked, in a line."""
        return (self.play.__doc__ or self.name).strip().splitlines()[0]


def must(*, reason: str, hint: str) -> Callable[[Performance], Check]:
    """Make a function a check that no adapter can do without; its name and first line are the check's."""
    return _check("must", reason, hint)


def should(*, reason: str, hint: str) -> Callable[[Performance], Check]:
    """Make a function a check that an adapter passes or declares."""
    return _check("should", reason, hint)


def may(*, reason: str, hint: str) -> Callable[[Performance], Check]:
    """Make a function a check that is reported only."""
    return _check("may", reason, hint)


def _check(level: Level, reason: str, hint: str) -> Callable[[Performance], Check]:
    def made(play: Performance) -> Check:
        return Check(name=play.__name__, level=level, reason=reason, hint=hint, play=play)

    return made
