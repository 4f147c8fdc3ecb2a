"""Which of a trial's attempts counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from trialbed.records import TrialKey, TrialResult


def counted_attempts(attempts: Iterable[TrialResult]) -> list[TrialResult]:
    """Of each trial the attempt that counts, in the order in which they are given.

    This is the first that was measured: a further attempt with the same adapter does not improve a score. If the
    adapter or its environment changed before a later one, it is the first that was measured with the latest code.
    Where none was measured, it is the last.
    """
    of_trial: dict[TrialKey, list[TrialResult]] = defaultdict(list)
    given = list(attempts)
    for result in given:
        of_trial[result.key].append(result)
    counted = {id(_counted(own)) for own in of_trial.values()}
    return [result for result in given if id(result) in counted]


def _counted(own: Sequence[TrialResult]) -> TrialResult:
    ordered = sorted(own, key=lambda result: result.attempt)
    measured = [result for result in ordered if result.status != "not measured"]
    if not measured:
        return ordered[-1]
    latest = measured[-1].adapter_digest
    return next(result for result in measured if result.adapter_digest == latest)
