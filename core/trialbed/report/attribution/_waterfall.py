"""The expected calls of many trials by the stage at which they were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trialbed.records import Failure
from trialbed.report.attribution._stages import BY_FRAMEWORK, STAGES, AttributedCall

USED = "used"
"""The key of the expected calls that were not lost."""


LOSERS = ("selector", "model", "framework", "rig")
"""The parties that can lose an expected call; the rig is the virtual API and Trialbed itself."""

LOST_BY = {
    "not offered": "selector",
    "not called": "model",
    "wrong arguments": "model",
    "not used": "model",
    "not made": "framework",
    "api failed": "rig",
}
"""Stage -> who lost a call at it."""

FAILED_BY = {"model": "model", "limit": "model"} | dict.fromkeys(
    ("budget", "endpoint", "replay", "server", "tool", "judge", "scorer"), "rig"
)
"""Kind of failure -> who lost the calls of the trial; the framework at all others."""


@dataclass(frozen=True)
class FirstLoss:
    """The first expected call that was lost at a stage."""

    query_id: int | str
    call: AttributedCall


@dataclass(frozen=True)
class Attribution:
    """The expected calls of many trials by the stage at which they were lost, or used.

    Attributes:
        counts: every stage in order, then ``used`` -> the expected calls that were lost there, or used.
        first: stage -> the first call that was lost there.
        losers: each of ``LOSERS`` -> the expected calls that it lost.
    """

    counts: Mapping[str, int]
    first: Mapping[str, FirstLoss] = field(default_factory=dict)
    losers: Mapping[str, int] = field(default_factory=dict)

    @property
    def gold_calls(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def shares(self) -> dict[str, float | None]:
        """The counts as shares, which add up to 1; None where there are no expected calls."""
        total = self.gold_calls
        return {stage: count / total if total else None for stage, count in self.counts.items()}


@dataclass
class CallCounter:
    """Counts the expected calls of trials, one trial after the other, of which it keeps nothing else."""

    _counts: Counter[str] = field(default_factory=Counter)
    _losers: Counter[str] = field(default_factory=Counter)
    _first: dict[str, FirstLoss] = field(default_factory=dict)

    def add(self, query_id: int | str, calls: Iterable[AttributedCall], failure: Failure | None) -> None:
        """Add the expected calls of a trial on a query, and why it has no answer."""
        for call in calls:
            self._counts[call.lost or USED] += 1
            if call.lost is not None:
                self._first.setdefault(call.lost, FirstLoss(query_id, call))
                self._losers[_loser(call, failure)] += 1

    @property
    def total(self) -> Attribution:
        """The sum."""
        counts = {stage: self._counts[stage] for stage in (*STAGES, USED)}
        return Attribution(counts, self._first, dict(self._losers))


def _loser(call: AttributedCall, failure: Failure | None) -> str:
    if call.reason.startswith(BY_FRAMEWORK):
        return "framework"
    if call.lost == "trial failed":
        return FAILED_BY.get(failure.kind if failure else "", "framework")
    return LOST_BY[str(call.lost)]
