"""The agreement of judges with labelled cases, kept in the state folder for every report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trialbed.contracts import Judge
from trialbed.records import Json, Record
from trialbed.settings import state_dir

CRITERIA_CALIBRATION = "criteria_calibration"
"""The part of a judge's description about criteria; only runs of tasks with criteria have it."""

CALIBRATIONS = "calibrations.json"
"""The calibrations' file in the state folder."""

MIN_CASES = 30
"""Cases with a verdict that a calibration needs to be named in reports."""


class Calibration(Record):
    """The agreement of a judge with labelled cases.

    Attributes:
        labels: the file of the cases, or ``embedded``; ``labels_digest`` is the SHA-256 over them.
        cases: the number of cases with a verdict; ``failures`` counts the cases without, which enter no figure.
        accuracy: the share of cases with the same status and label, with its interval of 95 %.
        kappa: Cohen's kappa, the agreement beyond chance, with its interval of 95 %; None if all labels and all
            verdicts are one status, because chance explains everything then.
        confusion: label -> status -> number of cases.
        votes: verdicts per case.
        at: when it was measured, in UTC; empty if it comes with the judge.
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
    def is_large(self) -> bool:
        """True if the cases are enough for reports to name the calibration."""
        return self.cases >= MIN_CASES

    @property
    def summary(self) -> str:
        """The figures in a line."""
        kappa = "" if self.kappa is None else f", kappa {self.kappa:.2f} [{self.kappa_low:.2f}, {self.kappa_high:.2f}]"
        right, low, high = (f"{100 * share:.0f} %" for share in (self.accuracy, self.accuracy_low, self.accuracy_high))
        return f"agrees with {right} [{low}, {high}] of {self.cases} labelled cases ({self.labels}){kappa}"


def judge_note(name: str, judge: Mapping[str, Any] | None) -> str:
    """Describe how far the judge of a run can be trusted; empty if the run has no judge, or asks it for nothing.

    Args:
        name: the judge's, as chosen.
        judge: the part of the run's document about it (``metadata.judge``).
    """
    if not judge or "calibration" not in judge:
        return ""
    full = name if judge["model"] in (None, name) else f"{name}:{judge['model']}"
    subject = "The judge" if full == "judge" else f"The judge {full}"
    said = "is uncalibrated: `bench judge calibrate` measures how far it agrees with labels"
    if judge["calibration"] is not None:
        said = Calibration.model_validate(judge["calibration"]).summary
    notes = [f"{subject} {said}."] if judge.get("asked", True) else []
    if CRITERIA_CALIBRATION in judge:
        said = "is uncalibrated for them: `bench judge calibrate FILE` measures it on cases with a criterion"
        if judge[CRITERIA_CALIBRATION] is not None:
            said = Calibration.model_validate(judge[CRITERIA_CALIBRATION]).summary
        notes.append(f"{judge['model'] or full} reads the criteria of tasks, and {said}.")
    return " ".join(notes)


def judge_identity(driver: str, model: str | None, about: Mapping[str, Json]) -> str:
    """Return a digest of a judge's driver, model and settings of verdicts, which distinguishes it from others."""
    text = json.dumps([driver, model, dict(about)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def calibration_of(judge: Judge, identity: str) -> Mapping[str, Json] | None:
    """Return the calibration of a judge as a document has it; None if it was not calibrated."""
    kept = kept_calibrations().get(identity)
    return judge.calibration() if kept is None else kept.model_dump()


def kept_calibrations() -> dict[str, Calibration]:
    """Return the kept calibrations that are large enough; empty for a damaged file."""
    try:
        kept = json.loads((state_dir() / CALIBRATIONS).read_text(encoding="utf-8"))
        found = {str(name): Calibration.model_validate(value) for name, value in kept.items()}
    except (OSError, ValueError, ValidationError, AttributeError):
        return {}
    return {name: measured for name, measured in found.items() if measured.is_large}
