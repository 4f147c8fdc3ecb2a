"""Has a judge grade labelled cases, reckons how well it agrees with their labels, and keeps that."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge
from trialbed.errors import DataError, JudgeError, NothingMeasured
from trialbed.files import replace_file
from trialbed.records import Record
from trialbed.scoring import MIN_CASES, Calibration, calibrations_file, kept_calibrations
from trialbed.statistics import Interval, wilson_interval
from trialbed_evaluation.calibration._cases import LabelledCase, labels_digest

EMBEDDED = "embedded"
"""The name of the cases that come with Trialbed."""
Pair = tuple[AnswerStatus, AnswerStatus]


async def calibrate(
    judge: Judge,
    cases: Sequence[LabelledCase],
    labels: str = EMBEDDED,
    *,
    concurrency: int = 4,
) -> tuple[Calibration, list[CaseFinding]]:
    """Measure the judge's agreement with the labels; returns its verdict on each case too.

    Args:
        labels: names the cases.
        concurrency: cases at a time.

    Raises:
        NothingMeasured: the judge gave no verdict on any case; says why.
    """
    findings = await judge_cases(judge, cases, concurrency=concurrency)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    found = calibration(findings, labels=labels, labels_digest=labels_digest(cases), votes=judge.votes, at=at)
    if found is None:
        why = f": {findings[0].reason}" if findings else ""
        raise NothingMeasured(f"the judge gave no verdict on any of {len(findings)} cases{why}")
    return found, findings


async def judge_cases(judge: Judge, cases: Sequence[LabelledCase], *, concurrency: int = 4) -> list[CaseFinding]:
    """Ask the judge about each case, in order. A case without a verdict harms no other."""
    slots = asyncio.Semaphore(concurrency)

    async def one(case: LabelledCase) -> CaseFinding:
        async with slots:
            return await _finding(judge, case)

    return list(await asyncio.gather(*map(one, cases)))


async def _finding(judge: Judge, case: LabelledCase) -> CaseFinding:
    try:
        given = (case.query, case.answer, case.wire)
        verdict = await (judge.judge(*given) if case.criterion is None else judge.meets(case.criterion, *given))
    except JudgeError as error:
        return CaseFinding(id=case.id, label=case.label, found=None, reason=str(error))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code
        return CaseFinding(id=case.id, label=case.label, found=None, reason=f"{type(error).__name__}: {error}")
    return CaseFinding(id=case.id, label=case.label, found=verdict.status, reason=verdict.reason)


def keep_calibration(identity: str, measured: Calibration) -> None:
    """Keep a calibration in the state folder; the last one of a judge is kept.

    Raises:
        DataError: it is over too few cases, or the file cannot be written.
    """
    if not measured.is_large:
        raise DataError(f"a calibration over {measured.cases} cases is not kept; it needs {MIN_CASES} with a verdict")
    kept = {name: value.model_dump() for name, value in (kept_calibrations() | {identity: measured}).items()}
    path = calibrations_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{json.dumps(kept, indent=2)}\n".encode())
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from error


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


def kappa_interval(pairs: Sequence[Pair]) -> tuple[float | None, Interval | None]:
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
    share = wilson_interval(observed, n)
    kappa, low, high = ((agreed - expected) / (1 - expected) for agreed in (observed, share.low, share.high))
    return kappa, Interval(max(-1.0, low), min(1.0, high))
