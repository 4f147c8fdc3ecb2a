"""Keeps a calibration for the reports of later runs."""

from __future__ import annotations

import json

from trialbed.errors import DataError
from trialbed.files import replace_file
from trialbed.scoring import MIN_CASES, Calibration, calibrations_file, kept_calibrations


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
