"""Calibration of judges: how far one can be trusted, by its agreement with labelled cases."""

from trialbed.calibration._cases import Case, embedded_cases, labels_digest, read_cases
from trialbed.calibration._figures import MIN_CASES, Calibration, Finding, calibration, judge_note, kappa_interval
from trialbed.calibration._kept import calibration_of, judge_identity, keep_calibration
from trialbed.calibration._measuring import EMBEDDED, calibrate, judge_cases

__all__ = [
    "EMBEDDED",
    "MIN_CASES",
    "Calibration",
    "Case",
    "Finding",
    "calibrate",
    "calibration",
    "calibration_of",
    "embedded_cases",
    "judge_cases",
    "judge_identity",
    "judge_note",
    "kappa_interval",
    "keep_calibration",
    "labels_digest",
    "read_cases",
]
