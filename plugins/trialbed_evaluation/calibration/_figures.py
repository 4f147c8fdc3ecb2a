"""The agreement of a judge with labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from trialbed.contracts import STATUS_VALUES, AnswerStatus
from trialbed.records import Record
from trialbed.scoring import Calibration
from trialbed.statistics import Interval, wilson_interval

Pair = tuple[AnswerStatus, AnswerStatus]


class CaseFinding(Record):
    """A judge's verdict on one case; ``found`` is None where it gave no verdict, and ``reason`` says why."""

    id: str
    label: AnswerStatus
    found: AnswerStatus | None
    reason: str = ""


def calibration(
    findings: Sequence[CaseFinding], *, labels: str, labels_digest: str, votes: int = 1, at: str = ""
) -> Calibration | None:
    """Return the figures over findings; None if the judge gave no verdict on any case."""
    pairs: list[Pair] = [(finding.label, finding.found) for finding in findings if finding.found is not None]
    if not pairs:
        return None
    accuracy = sum(label == found for label, found in pairs) / len(pairs)
    share = wilson_interval(accuracy, len(pairs))
    kappa, interval = kappa_interval(pairs)
    counts = Counter(pairs)
    return Calibration(
        labels=labels,
        labels_digest=labels_digest,
        cases=len(pairs),
        failures=len(findings) - len(pairs),
        accuracy=accuracy,
        accuracy_low=share.low,
        accuracy_high=share.high,
        kappa=kappa,
        kappa_low=interval.low if interval else None,
        kappa_high=interval.high if interval else None,
        confusion={label: {found: counts[label, found] for found in STATUS_VALUES} for label in STATUS_VALUES},
        votes=votes,
        at=at,
    )


def kappa_interval(pairs: Sequence[Pair], level: float = 0.95) -> tuple[float | None, Interval | None]:
    """Cohen's kappa of pairs (label, status), and its interval; None where chance alone explains them.

    The interval is Wilson's for the share of agreement, beyond the chance agreement of these labels and verdicts.
    Unlike the large-sample one (Fleiss, Cohen and Everitt, 1969) it keeps its level for few cases and for full
    agreement, where the estimated variance of kappa is 0.

    Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
    (1960), 37-46.
    """
    n = len(pairs)
    labels, verdicts = (Counter(side) for side in zip(*pairs, strict=True))
    observed = sum(label == found for label, found in pairs) / n
    expected = sum(labels[status] * verdicts[status] for status in STATUS_VALUES) / n**2
    if math.isclose(expected, 1.0):
        return None, None
    share = wilson_interval(observed, n, level)
    kappa, low, high = ((agreed - expected) / (1 - expected) for agreed in (observed, share.low, share.high))
    return kappa, Interval(max(-1.0, low), min(1.0, high), level)
