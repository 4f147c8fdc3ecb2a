"""A request to an endpoint, as it is sent, and an attempt at it, as it is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from trialbed.wire import Reading

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request ready to be sent.

    Attributes:
        request: the body without ``extra_body``, as the results file has it.
        sent: the body on the wire.
        digest: MD5 of ``request`` as the K2-style tools compute it.
        tools: those that the request declares, for checking calls.
    """

    request: Body
    sent: Body
    digest: str
    tools: Any

    @property
    def stream(self) -> bool:
        """Return whether the answer will be streamed."""
        return bool(self.sent.get("stream"))


class AttemptFields(TypedDict):
    """An attempt in a row of results."""

    started_at: str
    waited_ms: float
    status: int | None
    ttft_ms: float | None
    duration_ms: float
    problem: dict[str, str] | None
    retry_after_s: float | None


@dataclass(frozen=True, slots=True)
class EndpointAttempt:
    """One request to the endpoint. Times are seconds from the moment the request was written.

    Attributes:
        waited: seconds of waiting before it, for a retry.
        status: HTTP status; None if none came.
        first_token: to the first token with content, argument or reasoning; None if none came.
        duration: to the last byte that mattered, or to the failure.
        retry_after: seconds that the endpoint asked to wait.
    """

    started_at: datetime
    waited: float
    status: int | None
    first_token: float | None
    duration: float
    reading: Reading
    retry_after: float | None = None

    def as_json(self) -> AttemptFields:
        """For the results file."""
        problem = self.reading.problem
        return {
            "started_at": self.started_at.isoformat(),
            "waited_ms": round(self.waited * 1000),
            "status": self.status,
            "ttft_ms": milliseconds(self.first_token),
            "duration_ms": round(self.duration * 1000, 3),
            "problem": problem.as_json() if problem else None,
            "retry_after_s": self.retry_after,
        }


def milliseconds(seconds: float | None) -> float | None:
    """Seconds as milliseconds, to the microsecond."""
    return None if seconds is None else round(seconds * 1000, 3)
