"""Reads a table of figures and makes candidates of it."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.statistics import Estimate
from trialbed_verify.ranking._candidates import METRICS, VendorMetrics

COLUMNS = ("model", "vendor", *METRICS)


def read_table(path: Path, needed: Collection[str] = METRICS) -> list[VendorMetrics]:
    """Read a CSV file with the columns model, vendor and the six metrics; other columns are ignored.

    A column of a metric that is not needed may be missing. An empty cell is a missing figure. So is a 0 among times,
    rates of tokens and tokens, which cannot be 0.

    Raises:
        DataError: the file cannot be read, lacks a column, or has an invalid cell.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            _check_columns(path, reader.fieldnames or (), needed)
            candidates = [_candidate(path, reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if not candidates:
        raise DataError(f"{path}: contains no rows")
    _check_names(path, candidates)
    return candidates


def _check_columns(path: Path, found: Iterable[str], needed: Collection[str]) -> None:
    names = {name.strip() for name in found}
    wanted = [name for name in COLUMNS if name in needed or name not in METRICS]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise DataError(
            f"{path}, line 1: missing columns: {', '.join(absent)}; a table needs the columns {','.join(wanted)}"
        )


def _candidate(path: Path, line: int, row: dict[str | None, Any]) -> VendorMetrics:
    if any(row.get(None, ())):
        # With a comma in a number, say, figures would end up in the wrong columns.
        raise DataError(f"{path}, line {line}: more cells than the table has columns")
    cells = {name.strip(): (text or "").strip() for name, text in row.items() if isinstance(name, str)}
    for name in ("model", "vendor"):
        if not cells[name]:
            raise DataError(f"{path}, line {line}: {name} is empty")
    metrics = {metric: Estimate(_figure(path, line, metric, cells.get(metric, ""))) for metric in METRICS}
    return VendorMetrics(cells["model"], cells["vendor"], metrics)


def _figure(path: Path, line: int, metric: str, text: str) -> float | None:
    if not text:
        return None
    about = METRICS[metric]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (about.greatest is not None and value > about.greatest):
        wanted = "a number of at least 0" if about.greatest is None else f"a number from 0 to {about.greatest:g}"
        raise DataError(f"{path}, line {line}: {metric} is {text!r}, but must be {wanted}")
    return None if value == 0 and not about.zero_is_possible else value


def _check_names(path: Path, candidates: list[VendorMetrics]) -> None:
    seen = set()
    for one in candidates:
        if one.name in seen:
            raise DataError(f"{path}: {one.model} at {one.vendor} is listed twice")
        seen.add(one.name)
