"""Calibration of judges: how far one can be trusted, by its agreement with labelled cases."""

from trialbed_evaluation.calibration._cases import LabelledCase, embedded_cases, labels_digest, read_cases
from trialbed_evaluation.calibration._measuring import (
    EMBEDDED,
    CaseFinding,
    calibrate,
    calibration,
    judge_cases,
    kappa_interval,
    keep_calibration,
)

__all__ = [
    "EMBEDDED",
    "CaseFinding",
    "LabelledCase",
    "calibrate",
    "calibration",
    "embedded_cases",
    "judge_cases",
    "kappa_interval",
    "keep_calibration",
    "labels_digest",
    "read_cases",
]
