"""The folder of ranks of Agent Vendor Verifier: one file per metric, ``{model: {vendor: value}}``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import replace_file
from trialbed.statistics import Estimate
from trialbed.wire import parse_json
from trialbed_verify.ranking._candidates import METRICS, VendorMetrics
from trialbed_verify.ranking._records import Ranking

FILES: Mapping[str, str] = {
    "success_rate": "success_rate",
    "f1": "f1_score",
    "tps": "avg_throughput",
    "schema_accuracy": "schema_accuracy",
    "ttft_ms": "avg_ttft_ms",
    "avg_token": "avg_tokens",
}
"""Metric -> the name of its file, without ``.json``."""

SCORES, OVERALL = "irf_score", "irf_score_global"

Values = dict[str, dict[str, float]]


def is_rank_folder(path: Path) -> bool:
    """Return whether a folder has such files."""
    return (path / f"{FILES['f1']}.json").is_file()


def write_rank_files(ranking: Ranking, folder: Path) -> None:
    """Write the files; figures that are not known, or not ranked, are left out of them, where the original has 0.

    Raises:
        UsageError: they cannot be written.
    """
    rows = [row for found in ranking.models.values() for row in found.rows]
    files = {name: [(row.name, row.vendor.metrics[metric].value) for row in rows] for metric, name in FILES.items()}
    files[SCORES] = [(row.name, row.irf) for row in rows]
    files[OVERALL] = [(row.name, row.irf) for row in ranking.overall.rows]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in files.items():
            text = json.dumps(_by_model(values), ensure_ascii=False, allow_nan=False, indent=2)
            replace_file(folder / f"{name}.json", f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error


def read_rank_files(folder: Path) -> list[VendorMetrics]:
    """Read the figures of vendors; a 0 that cannot be one is a figure that is missing.

    Raises:
        DataError: a file cannot be read, or has another form.
    """
    files = {metric: _read(folder / f"{name}.json") for metric, name in FILES.items()}
    names = dict.fromkeys((model, vendor) for values in files.values() for model in values for vendor in values[model])
    return [
        VendorMetrics(
            model,
            vendor,
            {metric: Estimate(_figure(metric, files[metric].get(model, {}).get(vendor))) for metric in METRICS},
        )
        for model, vendor in names
    ]


def _by_model(values: Iterable[tuple[tuple[str, str], float | None]]) -> Values:
    found: Values = {}
    for (model, vendor), value in values:
        if value is not None:
            found.setdefault(model, {})[vendor] = value
    return found


def _read(path: Path) -> Values:
    try:
        found: Any = parse_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    vendors = list(found.values()) if isinstance(found, dict) else [None]
    if not all(isinstance(own, dict) and all(_is_number(value) for value in own.values()) for own in vendors):
        raise DataError(f"{path}: not an object of models, each with a number for each vendor")
    return found  # type: ignore[no-any-return]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _figure(metric: str, value: float | None) -> float | None:
    return None if value == 0 and not METRICS[metric].zero_is_possible else value
