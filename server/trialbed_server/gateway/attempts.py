"""Attempts to have the endpoint answer a request that came to nothing."""

from __future__ import annotations

from dataclasses import dataclass
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
