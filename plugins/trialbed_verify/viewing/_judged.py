"""Comparisons of vendors with their baselines, and their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from trialbed.views import Disclosures, IntervalPlot, PlotPoint, Table
from trialbed_verify.comparison import read_one
from trialbed_verify.publication import differences, excess_plot
from trialbed_verify.ranking import VerifiedFile, compare_and_rank, marked_baselines
from trialbed_verify.viewing._vendors import verified
from trialbed_verify.views import comparison_tables, ranking_tables, verified_tables

Part: TypeAlias = Table | IntervalPlot | Disclosures
Document = Mapping[str, Any]

UNMARKED = "No vendor of {model} is marked as the baseline; the one of the first file is taken: {vendor}."


def verification_parts(files: Sequence[Path]) -> list[Any]:
    """All about the vendors of one verification: what each answered, how they differ, and the ranks."""
    parts = list[Any](verified(files))
    return parts if len(files) == 1 else [*parts, *compared(files), *ranked(files)]


def compared(files: Sequence[Path]) -> list[Part]:
    """For each model: the verdicts, and for each vendor every gate with its interval and with what differs."""
    document, notes = _judged(files)
    parts: list[Part] = [Table("How they were compared", notes=notes)] if notes else []
    parts += verified_tables({**document, "ranking": None})
    for found in document["models"]:
        for one in found["comparisons"]:
            parts += _comparison(one)
    return parts


def ranked(files: Sequence[Path]) -> list[Part]:
    """The ranks, with their intervals."""
    document, notes = _judged(files)
    ranking = document["ranking"]
    notes += [f"{note}." for model in document["models"] for note in model["notes"]]
    parts: list[Part] = [Table("How they were ranked", notes=notes)] if notes else []
    if ranking is None:
        return parts
    for model in ranking["models"]:
        points = [
            PlotPoint(row["vendor"], row["rank"], row["rank_low"], row["rank_high"], _rank(row))
            for row in model["ranked"]
            if row.get("rank_low") is not None
        ]
        if points:
            worst = max(point.high or 1 for point in points)
            title = f"{model['model']}: ranks, with their 95 % intervals"
            parts.append(IntervalPlot(title, points, limits=(0.5, worst + 0.5)))
    return [*parts, *ranking_tables(ranking)]


def _rank(row: Document) -> str:
    return f"{row['rank']} [{row['rank_low']}, {row['rank_high']}]"


def _comparison(document: Document) -> Iterator[Part]:
    first, *others = comparison_tables([document])
    yield first
    plot = excess_plot(document)
    if plot is not None:
        yield plot
    shown = differences(document)
    if shown is not None:
        yield shown
    yield from others


def _judged(files: Sequence[Path]) -> tuple[Document, list[str]]:
    """The comparisons and ranks of all files, and how their baselines were chosen."""
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
