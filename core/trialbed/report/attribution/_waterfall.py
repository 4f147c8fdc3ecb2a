"""The gold calls of many trials by the stage at which they were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from trialbed.report.attribution._stages import STAGES, AttributedCall

USED = "used"
"""The key of the gold calls that were not lost."""


def waterfall(calls: Iterable[AttributedCall]) -> dict[str, Any]:
    """How many gold calls there are, how many were lost at each stage, and how many are left.

    Returns:
        ``gold_calls``, ``counts`` (every stage in order, then ``used``), which add up to it, and ``shares``, the same
        as shares, which add up to 1; None where there are no gold calls.
    """
    found = Counter(call.lost or USED for call in calls)
    total = found.total()
    counts = {stage: found[stage] for stage in (*STAGES, USED)}
    return {
        "gold_calls": total,
        "counts": counts,
        "shares": {stage: count / total if total else None for stage, count in counts.items()},
    }


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
