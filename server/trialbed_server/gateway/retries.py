"""The gateway's retries: how often, and after which wait, it repeats a failed request."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0

SPREAD = 0.5
"""Seconds over which the requests are spread that were asked to wait for the same time."""


@dataclass
class RetryBudget:
    """Bounds the repetitions of all requests together, so that a poor endpoint is not asked for ever.

    Each repetition takes one from the budget, and each answer adds some, up to its size: an endpoint that answers one
    request in three never uses it up.
    """

    size: float = 500.0
    per_answer: float = 2.0
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.size

    def take(self) -> bool:
        """Return whether there is one left; takes it."""
        if self.left < 1:
            return False
        self.left -= 1
        return True

    def answered(self) -> None:
        """A request was answered."""
        self.left = min(self.size, self.left + self.per_answer)


@dataclass(frozen=True)
class GatewayRetries:
    """Decides when a failed request is repeated.

    Attributes:
        retries: how often at most.
        patience: seconds for all waits and repetitions of one request; with 0, every failure is passed on as it came.
        draw: a random number between two others.
    """

    retries: int = 8
    patience: float = 120.0
    draw: Callable[[float, float], float] = random.uniform

    def wait(self, number: int, elapsed: float, asked: float | None) -> float | None:
        """Seconds to wait before the next attempt; None if there is none.

        The endpoint may have asked for a wait; else it is drawn from a range that doubles each time (exponential
        backoff with full jitter).

        Args:
            number: of the attempt that failed, from 1.
            elapsed: seconds since the first failure.
            asked: the seconds of the endpoint's ``Retry-After``.
        """
        if number > self.retries or not self.patience:
            return None
        if asked:
            seconds = asked + self.draw(0.0, SPREAD)
        else:
            seconds = self.draw(0.0, min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (number - 1)))
        return seconds if elapsed + seconds <= self.patience else None
