"""The agreement of a judge with labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

from trialbed.contracts import STATUS_VALUES, AnswerStatus
from trialbed.records import Record
from trialbed.statistics import Interval, wilson_interval

Pair = tuple[AnswerStatus, AnswerStatus]


class Finding(Record):
    """What a judge said of one case; ``found`` is None where it gave no verdict, and ``reason`` says why."""

    id: str
    label: AnswerStatus
    found: AnswerStatus | None
    reason: str = ""


class Calibration(Record):
    """The agreement of a judge with labelled cases.

    Attributes:
        labels: the file of the cases, or ``embedded``; ``labels_digest`` is the SHA-256 over them.
        cases: those with a verdict; ``failures`` is the number of those without, which count in no figure.
        accuracy: the share of cases in which status and label are the same, with its interval of 95 %.
        kappa: Cohen's kappa, the agreement beyond what chance would give, with its interval of 95 %; None where all
            labels and all verdicts are one status, so that chance explains everything.
        confusion: label -> status -> number of cases.
        votes: verdicts per case.
        at: when it was measured, in UTC.
    """

    labels: str
    labels_digest: str
    cases: int
    failures: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    confusion: Mapping[str, Mapping[str, int]]
    votes: int = 1
    at: str = ""

    @property
    def summary(self) -> str:
        """The figures in a line."""
        kappa = "" if self.kappa is None else f", kappa {self.kappa:.2f} [{self.kappa_low:.2f}, {self.kappa_high:.2f}]"
        right = f"{self.accuracy:.0%} [{self.accuracy_low:.0%}, {self.accuracy_high:.0%}]"
        return f"agrees with {right} of {self.cases} labelled cases ({self.labels}){kappa}"


def judge_note(name: str, judge: Mapping[str, Any] | None) -> str:
    """How far the judge of a run can be trusted; empty where its version did not record that.

    Args:
        name: the judge's, as chosen.
        judge: what the run's document says of it (``metadata.judge``).
    """
    if not judge:
        return ""
    full = name if judge["model"] in (None, name) else f"{name}:{judge['model']}"
    if judge["calibration"] is None:
        return f"The judge {full} is uncalibrated: `bench judge calibrate` measures how far it agrees with labels."
    return f"The judge {full} {Calibration.model_validate(judge['calibration']).summary}."


def calibration(
    findings: Sequence[Finding], *, labels: str, labels_digest: str, votes: int = 1, at: str = ""
) -> Calibration | None:
    """The figures over findings; None if there is no verdict among them."""
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

    Source: J. L. Fleiss, J. Cohen and B. S. Everitt, "Large sample standard errors of kappa and weighted kappa",
    Psychological Bulletin 72 (1969), 323-327.
    """
    n = len(pairs)
    joint = {pair: count / n for pair, count in Counter(pairs).items()}
    rows = {status: sum(joint.get((status, other), 0.0) for other in STATUS_VALUES) for status in STATUS_VALUES}
    columns = {status: sum(joint.get((other, status), 0.0) for other in STATUS_VALUES) for status in STATUS_VALUES}
    observed = sum(joint.get((status, status), 0.0) for status in STATUS_VALUES)
    expected = sum(rows[status] * columns[status] for status in STATUS_VALUES)
    if math.isclose(expected, 1.0):
        return None, None
    kappa = (observed - expected) / (1 - expected)
    same = sum(
        joint.get((status, status), 0.0) * (1 - (rows[status] + columns[status]) * (1 - kappa)) ** 2
        for status in STATUS_VALUES
    )
    different = (1 - kappa) ** 2 * sum(
        share * (columns[label] + rows[found]) ** 2 for (label, found), share in joint.items() if label != found
    )
    rest = (kappa - expected * (1 - kappa)) ** 2
    deviation = math.sqrt(max(0.0, same + different - rest) / n) / (1 - expected)
    half = NormalDist().inv_cdf((1 + level) / 2) * deviation
    return kappa, Interval(max(-1.0, kappa - half), min(1.0, kappa + half), level)
