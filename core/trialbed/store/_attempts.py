"""Decides which of a trial's attempts counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from trialbed.records import TrialStatus


class NumberedAttempt(Protocol):
    """The fields that decide which attempt counts; a ``TrialResult`` has them."""

    @property
    def key(self) -> Hashable:
        """The trial."""

    @property
    def attempt(self) -> int:
        """Its number."""

    @property
    def status(self) -> TrialStatus:
        """Its end."""

    @property
    def adapter_digest(self) -> str:
        """The code that it ran."""


@dataclass(frozen=True)
class AttemptSummary:
    """An attempt in a store, without its answer."""

    key: Any
    attempt: int
    status: TrialStatus
    adapter_digest: str


A = TypeVar("A", bound=NumberedAttempt)


def counted_attempts(attempts: Iterable[A]) -> list[A]:
    """Return the attempt of each trial that counts, in the order in which they are given.

    This is the first that was measured: a further attempt with the same adapter does not improve a score. If the
    adapter or its environment changed before a later one, it is the first that was measured with the latest code.
    If none was measured, it is the last.
    """
    of_trial: dict[Hashable, list[A]] = defaultdict(list)
    given = list(attempts)
    for attempt in given:
        of_trial[attempt.key].append(attempt)
    counted = {id(_counted_attempt(own)) for own in of_trial.values()}
    return [attempt for attempt in given if id(attempt) in counted]


def _counted_attempt(own: Sequence[A]) -> A:
    ordered = sorted(own, key=lambda attempt: attempt.attempt)
    measured = [attempt for attempt in ordered if attempt.status != "not measured"]
    if not measured:
        return ordered[-1]
    latest = measured[-1].adapter_digest
    return next(attempt for attempt in measured if attempt.adapter_digest == latest)
