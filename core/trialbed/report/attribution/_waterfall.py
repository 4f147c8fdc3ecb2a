"""The gold calls of many trials by the stage at which they were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trialbed.report.attribution._stages import STAGES, AttributedCall

USED = "used"
"""The key of the gold calls that were not lost."""


@dataclass(frozen=True)
class Attribution:
    """The gold calls of many trials by the stage at which they were lost, or used.

    Attributes:
        counts: every stage in order, then ``used`` -> the gold calls that were lost there, or used.
    """

    counts: Mapping[str, int]

    @property
    def gold_calls(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def shares(self) -> dict[str, float | None]:
        """The counts as shares, which add up to 1; None where there are no gold calls."""
        total = self.gold_calls
        return {stage: count / total if total else None for stage, count in self.counts.items()}


def waterfall(calls: Iterable[AttributedCall]) -> Attribution:
    """Count gold calls by the stage at which they were lost."""
    found = Counter(call.lost or USED for call in calls)
    return Attribution({stage: found[stage] for stage in (*STAGES, USED)})


def percentages(counts: Sequence[int]) -> list[int]:
    """Counts as whole percentages of their sum that add up to 100 (the method of largest remainders).

    All are 0 where the sum is.
    """
    total = sum(counts)
    if not total:
        return [0] * len(counts)
    whole = [100 * count // total for count in counts]
    remainders = sorted(range(len(counts)), key=lambda place: (-(100 * counts[place] % total), place))
    for place in remainders[: 100 - sum(whole)]:
        whole[place] += 1
    return whole
