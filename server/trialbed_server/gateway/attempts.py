"""Attempts to have the endpoint answer a request that came to nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from trialbed_server.gateway.circuit import EndpointDown
from trialbed_server.gateway.response import Header


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt of which nothing was passed on.

    Attributes:
        status: the endpoint's; 0 if none came.
        answer: status, headers and body to give back if there is no other attempt; the body is None if none came.
        asked: the seconds of the endpoint's ``Retry-After``.
        transient: whether another attempt may succeed.
        unspoken: whether the endpoint seems not to speak the dialect, and is to be asked in another one.
        absent: whether there was no connection, and never an answer before: the address is probably wrong.
        provoked: whether the endpoint answered a plain request of the gateway's own after it.
    """

    status: int
    message: str
    answer: tuple[int, list[Header], bytes | None]
    asked: float | None = None
    transient: bool = True
    absent: bool = False
    provoked: bool = False
    unspoken: bool = False

    @classmethod
    def held_back(cls, error: EndpointDown) -> Self:
        """Return the failure of a request that was not sent."""
        return cls(0, f"the request was not sent, as the endpoint keeps failing: {error}", (503, [], None))


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
