"""The calibrations that were measured, so that every report can name its judge's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trialbed.calibration._cases import embedded_cases
from trialbed.calibration._figures import MIN_CASES, Calibration
from trialbed.calibration._measuring import calibrate
from trialbed.contracts import Judge
from trialbed.errors import DataError, NothingMeasured
from trialbed.files import replace_file
from trialbed.records import Json
from trialbed.settings import state_dir

FILE = "calibrations.json"


def judge_identity(driver: str, model: str | None, about: Mapping[str, Json]) -> str:
    """What tells a judge from others: its driver, its model, and what else its verdicts depend on."""
    text = json.dumps([driver, model, dict(about)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def keep_calibration(identity: str, measured: Calibration) -> None:
    """Keep a calibration in the state folder; the last one of a judge is kept.

    Raises:
        DataError: it is over too few cases, or the file cannot be written.
    """
    if not measured.is_large:
        raise DataError(f"a calibration over {measured.cases} cases is not kept; it needs {MIN_CASES} with a verdict")
    kept = {name: value.model_dump() for name, value in (_read() | {identity: measured}).items()}
    path = state_dir() / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{json.dumps(kept, indent=2)}\n".encode())
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from error


async def calibration_of(judge: Judge, identity: str) -> dict[str, Any] | None:
    """The calibration of a judge as a document has it; None if it was not calibrated.

    A judge whose verdicts cost nothing is calibrated on the embedded cases, unless it was on others.
    """
    kept = _read().get(identity)
    if kept is not None:
        return kept.model_dump()
    if not judge.free:
        return None
    try:
        measured, _ = await calibrate(judge, embedded_cases())
    except NothingMeasured:
        return None
    return measured.model_dump() | {"at": ""}


def _read() -> dict[str, Calibration]:
    """The kept calibrations that are large enough; a file that is damaged has none."""
    try:
        kept = json.loads((state_dir() / FILE).read_text(encoding="utf-8"))
        found = {str(name): Calibration.model_validate(value) for name, value in kept.items()}
    except (OSError, ValueError, ValidationError, AttributeError):
        return {}
    return {name: measured for name, measured in found.items() if measured.is_large}
