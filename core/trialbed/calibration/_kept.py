"""The calibrations that were measured, so that every report can name its judge's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trialbed.calibration._cases import embedded_cases
from trialbed.calibration._figures import Calibration
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
        DataError: the file cannot be written.
    """
    kept = _read() | {identity: measured.model_dump()}
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
        return dict(kept)
    if not judge.free:
        return None
    try:
        measured, _ = await calibrate(judge, embedded_cases())
    except NothingMeasured:
        return None
    return measured.model_dump() | {"at": ""}


def _read() -> dict[str, Any]:
    """The kept calibrations; a file that is damaged has none."""
    try:
        kept = json.loads((state_dir() / FILE).read_text(encoding="utf-8"))
        return {str(name): Calibration.model_validate(value).model_dump() for name, value in kept.items()}
    except (OSError, ValueError, ValidationError, AttributeError):
        return {}
