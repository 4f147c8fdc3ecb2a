"""Comparisons of vendors with their baselines, and their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from trialbed.views import Disclosures, IntervalPlot, PlotPoint, Table
from trialbed_verify.comparison import read_one
from trialbed_verify.publication import comparison_parts
from trialbed_verify.ranking import Placing, VerifiedFile, VerifiedVendors, compare_and_rank, marked_baselines
from trialbed_verify.viewing._vendors import vendor_parts
from trialbed_verify.views import comparison_overview, ranking_tables

Part: TypeAlias = Table | IntervalPlot | Disclosures

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


def verification_parts(files: Sequence[Path]) -> list[Any]:
    """Return all about the vendors of one verification: their answers, how they differ, and the ranks."""
    parts = list[Any](vendor_parts(files))
    return parts if len(files) == 1 else [*parts, *comparisons(files), *ranks(files)]


def comparisons(files: Sequence[Path]) -> list[Part]:
    """Return for each model the verdicts, and for each vendor every gate with its interval and its examples."""
    found, notes = _compare_and_rank(files)
    parts: list[Part] = [Table("How they were compared", notes=notes)] if notes else []
    parts += comparison_overview(found.models)
    for one in found.comparisons:
        parts += comparison_parts(one)
    return parts


def ranks(files: Sequence[Path]) -> list[Part]:
    """Return the ranks, with their intervals."""
    found, notes = _compare_and_rank(files)
    notes += [f"{note}." for note in found.notes]
    parts: list[Part] = [Table("How they were ranked", notes=notes)] if notes else []
    if found.ranking is None:
        return parts
    for model, standings in found.ranking.models.items():
        points = [_point(row) for row in standings.ranked if row.rank_low is not None]
        if points:
            worst = max(point.high or 1 for point in points)
            title = f"{model}: ranks, with their 95 % intervals"
            parts.append(IntervalPlot(title, points, limits=(0.5, worst + 0.5)))
    return [*parts, *ranking_tables(found.ranking)]


def _point(row: Placing) -> PlotPoint:
    text = f"{row.rank} [{row.rank_low}, {row.rank_high}]"
    return PlotPoint(row.vendor.vendor, row.rank or 0, row.rank_low, row.rank_high, text)


def _compare_and_rank(files: Sequence[Path]) -> tuple[VerifiedVendors, list[str]]:
    """Return the comparisons and ranks of all files, and notes on how their baselines were chosen."""
    found, notes = [], []
    results = [read_one(path) for path in files]
    marked = marked_baselines(results)
    for model in dict.fromkeys(one.model for one in results):
        vendors = [one for one in results if one.model == model]
        baseline = next((one for one in vendors if one.vendor in marked), None)
        if baseline is None:
            baseline = vendors[0]
            notes.append(UNMARKED.format(model=model, vendor=baseline.vendor))
        found += [
            VerifiedFile(model or "a model", one.vendor, one.path, is_baseline=one is baseline) for one in vendors
        ]
    return compare_and_rank(found), notes
