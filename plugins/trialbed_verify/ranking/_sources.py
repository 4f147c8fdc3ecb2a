"""Makes candidates of results, of tables of figures, and of folders of ranks."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import truediv
from pathlib import Path
from typing import Any

import numpy as np

from trialbed.errors import DataError, UsageError
from trialbed.files import replace_file
from trialbed.statistics import RESAMPLES, CaseBootstrap, Estimate
from trialbed.wire import parse_json
from trialbed_verify.compare import (
    SIDES,
    Column,
    SideRows,
    agreement,
    count_cases,
    excess_f1,
    judge_pairs,
    self_agreement,
)
from trialbed_verify.panel import Panel, PanelOptions
from trialbed_verify.ranking._ranks import METRICS, Ranking, VendorMetrics
from trialbed_verify.summary import cost
from trialbed_verify.table import Answers, Case, Pairing, pair, read_tables
from trialbed_verify.vendor_rows import VendorRows

FIGURES = {"tps": "tps", "ttft_ms": "ttft_ms", "avg_token": "total_tokens"}
"""Metric -> the figure of result rows of which it is the mean."""

ONE_TRIAL = "its F1 is 1 by convention, as its self-consistency is unknown with one trial per case"

SELF_F1 = "its F1 is its self-F1, the agreement of its own trials with each other"


def read_named(name: str, source: VendorRows) -> list[Answers]:
    """Read results, whose vendor has this name if it is not empty.

    Raises:
        UsageError: a name is given to several vendors.
        DataError: the rows cannot be read, or are no results.
    """
    found = read_tables(source)
    if not name:
        return found
    if len(found) > 1:
        raise UsageError(
            f"{name}={source}: the file contains {len(found)} vendors or configurations, which cannot share one name"
        )
    return [replace(found[0], vendor=name)]


def marked_baselines(files: Iterable[Answers]) -> tuple[str, ...]:
    """Return the vendors that are marked as their model's baseline, as by the summaries next to their results."""
    return tuple(dict.fromkeys(found.vendor for found in files if found.is_of_baseline))


@dataclass(frozen=True)
class FileOptions:
    """Options for reading result files as candidates.

    Attributes:
        baselines: names of vendors, one per model.
        model: the model of all files; None for the model that the rows name.
        force: rank by the common cases of files that differ.
        resamples: of the bootstrap.
        panels: vendor -> the panel's verdict on it, where it is known.
    """

    baselines: tuple[str, ...] = ()
    model: str | None = None
    force: bool = False
    resamples: int = RESAMPLES
    panels: Mapping[str, Panel] = field(default_factory=dict)


def candidates(files: Sequence[Answers], options: FileOptions) -> list[VendorMetrics]:
    """Make one candidate per vendor and model. A vendor whose file lacks cases becomes one that is not ranked.

    Raises:
        UsageError: a model does not have exactly one baseline, a vendor is listed twice, or the requests of a file
            differ from the baseline's.
    """
    named = [replace(one, model=options.model) if options.model else one for one in files]
    _check_models(named)
    found = []
    for model in dict.fromkeys(one.model for one in named):
        own = [one for one in named if one.model == model]
        found += _of_model(str(model), own, _baseline(str(model), own, options.baselines), options)
    return found


def _check_models(files: Sequence[Answers]) -> None:
    for one in files:
        if one.model is None:
            raise UsageError(f"{one.source}: its rows do not agree on one model; name it with --model")
    unnamed = {one.model for one in files if one.rows[0].model is None}
    if len(unnamed) > 1:
        raise UsageError(
            f"the files request different models ({', '.join(sorted(map(str, unnamed)))}); "
            "if these are names of the same model, give it one name with --model"
        )
    seen: dict[tuple[str | None, str], Answers] = {}
    for one in files:
        other = seen.setdefault((one.model, one.vendor), one)
        if other is not one:
            raise UsageError(
                f"{other.source} and {one.source} both have results of {one.model} at {one.vendor}; name each "
                "vendor with VENDOR=FILE"
            )


def _baseline(model: str, files: Sequence[Answers], names: Sequence[str]) -> Answers:
    found = [one for one in files if one.vendor in names]
    vendors = ", ".join(one.vendor for one in files)
    if not found:
        raise UsageError(f"{model} has no baseline, which F1 needs; name one of {vendors} with --baseline")
    if len(found) > 1:
        raise UsageError(f"{model} has {len(found)} baselines: {', '.join(one.vendor for one in found)}; name one")
    return found[0]


def _of_model(model: str, files: Sequence[Answers], baseline: Answers, options: FileOptions) -> list[VendorMetrics]:
    by_name = all(one.names_cases for one in files)
    pairings = [pair(baseline, one, force=options.force, by_name=by_name, may_lack=True) for one in files]
    whole = [options.force or not found.only_baseline for found in pairings]
    complete = [found for found, is_whole in zip(pairings, whole, strict=True) if is_whole]
    common = [case for case in complete[0].cases if all(case in found.cases for found in complete)]
    if not common:
        raise UsageError(f"{model}: its files have no case in common, so its vendors cannot be ranked")
    return [
        _candidate(found, model, common if is_whole else list(found.cases), options)
        for found, is_whole in zip(pairings, whole, strict=True)
    ]


def _candidate(pairing: Pairing, model: str, common: list[Case], options: FileOptions) -> VendorMetrics:
    is_baseline = pairing.vendor is pairing.baseline
    bootstrap = CaseBootstrap(len(common), options.resamples)
    reference, own = (SideRows.of([getattr(pairing.cases[case], side) for case in common]) for side in SIDES)
    found = agreement(reference, own, delivered=True)
    columns = {
        "success_rate": own.answers,
        "f1": _itself(own) if is_baseline else _f1(found),
        "schema_accuracy": own.fitting(),
        **{metric: own.sums(own.figure(figure)) for metric, figure in FIGURES.items()},
    }
    counts = {metric: int(whole.sum()) for metric, (_, whole) in columns.items()} | {"f1": count_cases(found)}
    metrics = {metric: bootstrap.estimate(truediv, *pair, n=counts[metric]) for metric, pair in columns.items()}
    outcomes = [row.outcome for row in own.rows]
    price = cost(own.rows, pairing.vendor.prices)
    lacking, file = len(pairing.only_baseline), pairing.vendor.source.file_name
    known = options.panels.get(pairing.vendor.vendor)
    return VendorMetrics(
        model=model,
        vendor=pairing.vendor.vendor,
        metrics=metrics,
        is_baseline=is_baseline,
        protocol_errors=outcomes.count("protocol_error") / len(outcomes),
        excess=None if is_baseline else _excess(reference, found, bootstrap),
        columns=columns,
        cost=1000 * price["total"] / own.answers[0].sum() if price and own.answers[0].any() else None,
        incomplete=f"{file} lacks {lacking} of the baseline's rows" if lacking and not options.force else "",
        notes=_notes(own, is_baseline=is_baseline) + pairing.vendor.notes,
        panel=None
        if is_baseline
        else known or judge_pairs([pairing.cases[case] for case in common], PanelOptions(prices=pairing.prices)),
    )


def _f1(found: Column) -> tuple[Column, Column]:
    tp, fp, fn, _ = found
    return 2 * tp, 2 * tp + fp + fn


def _itself(own: SideRows) -> tuple[Column, Column]:
    """Return the baseline's self-F1; with one trial per case, 1 by convention if it answered at all."""
    known, _, itself = self_agreement(own)
    ones = (own.answers[0] > 0).astype(float)
    return _f1(itself) if known.any() else (ones, ones)


def _excess(reference: SideRows, found: Column, bootstrap: CaseBootstrap) -> Estimate | None:
    """Return F1 above chance; None if the baseline decides alike in all cases, which makes F1 meaningless."""
    shares = reference.shares(delivered=False)
    known = shares[np.isfinite(shares)]
    if not len(known) or (known == known[0]).all():
        return None
    return bootstrap.estimate(excess_f1, *found, level=0.9)


def _notes(own: SideRows, *, is_baseline: bool) -> tuple[str, ...]:
    if not is_baseline or not own.answers[0].any():
        return ()
    return (SELF_F1 if self_agreement(own)[0].any() else ONE_TRIAL,)


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
            candidates = [_table_candidate(path, reader.line_num, row) for row in reader]
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


def _table_candidate(path: Path, line: int, row: dict[str | None, Any]) -> VendorMetrics:
    if any(row.get(None, ())):
        # With a comma in a number, say, figures would end up in the wrong columns.
        raise DataError(f"{path}, line {line}: more cells than the table has columns")
    cells = {name.strip(): (text or "").strip() for name, text in row.items() if isinstance(name, str)}
    for name in ("model", "vendor"):
        if not cells[name]:
            raise DataError(f"{path}, line {line}: {name} is empty")
    metrics = {metric: Estimate(_cell(path, line, metric, cells.get(metric, ""))) for metric in METRICS}
    return VendorMetrics(cells["model"], cells["vendor"], metrics)


def _cell(path: Path, line: int, metric: str, text: str) -> float | None:
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
