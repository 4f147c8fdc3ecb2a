"""A report on releases as a file: JSON with one fact on a line, so that its versions can be compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed_adapter_lab.releases._report import ReleasesReport

LISTS = ("releases", "histories")
"""Fields whose entries are a line each."""


def report_text(report: ReleasesReport) -> str:
    """Return a report as JSON text."""
    document = json.loads(report.model_dump_json(exclude_defaults=True))
    lines = [f"  {_line(name)}: {_field(name, value)}" for name, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_report(path: Path) -> ReleasesReport:
    """Read a report that ``bench releases --output`` wrote.

    Raises:
        DataError: the file cannot be read, or is not a report.
    """
    try:
        return ReleasesReport.model_validate_json(read_bytes(path))
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not a report of bench releases --output: {str(error).splitlines()[0]}") from error


def _field(name: str, value: Any) -> str:
    return _block(value) if name in LISTS and value else _line(value)


def _block(entries: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(f"    {_line(entry)}" for entry in entries) + "\n  ]"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
