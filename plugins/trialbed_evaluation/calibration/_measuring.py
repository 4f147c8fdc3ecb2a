"""Has a judge grade labelled cases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from trialbed.contracts import Judge
from trialbed.errors import DataError, JudgeError, NothingMeasured
from trialbed.files import replace_file
from trialbed.scoring import MIN_CASES, Calibration, calibrations_file, kept_calibrations
from trialbed_evaluation.calibration._cases import LabelledCase, labels_digest
from trialbed_evaluation.calibration._figures import CaseFinding, calibration

EMBEDDED = "embedded"
"""The name of the cases that come with Trialbed."""


async def calibrate(
    judge: Judge,
    cases: Sequence[LabelledCase],
    labels: str = EMBEDDED,
    *,
    concurrency: int = 4,
    progress: Callable[[CaseFinding], None] | None = None,
) -> tuple[Calibration, list[CaseFinding]]:
    """Measure the judge's agreement with the labels; returns its verdict on each case too.

    Args:
        labels: names the cases.
        concurrency: cases at a time.
        progress: called with each finding.

    Raises:
        NothingMeasured: the judge gave no verdict on any case; says why.
    """
    findings = await judge_cases(judge, cases, concurrency=concurrency, progress=progress)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    found = calibration(findings, labels=labels, labels_digest=labels_digest(cases), votes=judge.votes, at=at)
    if found is None:
        why = f": {findings[0].reason}" if findings else ""
        raise NothingMeasured(f"the judge gave no verdict on any of {len(findings)} cases{why}")
    return found, findings


async def judge_cases(
    judge: Judge,
    cases: Sequence[LabelledCase],
    *,
    concurrency: int = 4,
    progress: Callable[[CaseFinding], None] | None = None,
) -> list[CaseFinding]:
    """Ask the judge about each case, in order. A case without a verdict harms no other."""
    slots = asyncio.Semaphore(concurrency)

    async def one(case: LabelledCase) -> CaseFinding:
        async with slots:
            finding = await _finding(judge, case)
        if progress is not None:
            progress(finding)
        return finding

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
