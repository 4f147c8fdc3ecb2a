"""The bound on the gateway's retries of all requests together."""

from __future__ import annotations

from dataclasses import dataclass, field


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
