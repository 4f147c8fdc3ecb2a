"""The outcomes of an exchange, and the reading of its response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trialbed.wire._exchange import ModelAnswer

Outcome = Literal["tool_calls", "stop", "other", "protocol_error", "transport_error", "timeout"]
"""The terminal outcomes; every exchange ends in exactly one.

``tool_calls``, ``stop`` and ``other`` are complete answers, by their finish reason. ``protocol_error`` is an
answer that breaks the protocol, ``transport_error`` a failed connection or an HTTP status that is not a success,
``timeout`` an answer that did not arrive in time.
"""

ANSWERED: frozenset[Outcome] = frozenset(("tool_calls", "stop", "other"))
"""The outcomes that are answers; the rest are failures."""


NO_ANSWER = ModelAnswer(created=0, finish_reason=None)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: a kind from a fixed list (``cut_stream``, ``http_429``) and the details in words.

    Attributes:
        code: of the error that a body reports, as it came; None where it reports none.
    """

    kind: str
    message: str
    code: Any = None

    def as_json(self) -> dict[str, str]:
        """For the results file."""
        return {"kind": self.kind, "message": self.message}


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of one response.

    Attributes:
        response: the document, whole or assembled from its stream as far as it came; None if there is none.
        finish_reason: of the first choice.
        first_token: when the first token with content, arguments or reasoning came, on the caller's clock.
        notes: peculiarities that are not failures, such as calls delivered with another finish reason.
        excerpts: note -> the bytes of an example, where they say more than the response.
        answer: the answer in the response, as far as it came.
    """

    outcome: Outcome
    finish_reason: str | None = None
    response: dict[str, Any] | None = None
    problem: Problem | None = None
    first_token: float | None = None
    notes: tuple[str, ...] = field(default=())
    excerpts: Mapping[str, str] = field(default_factory=dict)
    answer: ModelAnswer = NO_ANSWER


def outcome_of(finish_reason: str) -> Outcome:
    """The outcome of a complete answer with this finish reason; ``function_call`` is the old name of a call."""
    if finish_reason in ("tool_calls", "stop"):
        return finish_reason  # type: ignore[return-value] # just these two are outcomes by name
    return "tool_calls" if finish_reason == "function_call" else "other"


def failed(kind: str, message: str, outcome: Outcome = "protocol_error") -> Reading:
    """The reading of a response that is not an answer."""
    return Reading(outcome, problem=Problem(kind, message))
