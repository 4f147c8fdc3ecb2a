"""Compares and ranks the vendors of one verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed_verify.comparison import CompareOptions, Results, compare, read_one
from trialbed_verify.comparison._pairing import pair
from trialbed_verify.ranking._candidates import Candidate
from trialbed_verify.ranking._files import FileOptions, candidates
from trialbed_verify.ranking._rank import rank

Document = dict[str, Any]

NO_BASELINE = (
    "no vendor is marked as the baseline, so vendors were neither compared nor ranked; mark one with is_baseline: true"
)
NO_OTHER = "the baseline is the only vendor, so there is nothing to compare"


@dataclass(frozen=True)
class VerifiedFile:
    """A results file written by a verification."""

    model: str
    vendor: str
    path: Path
    is_baseline: bool


def compare_and_rank(files: Sequence[VerifiedFile]) -> Document:
    """Compare vendors with their models' baselines and rank them, as far as the files allow; notes say what is missing.

    Vendors are compared over the cases that both files have, even if their drivers force different settings; the
    documents say what was left out and what differs.
    """
    models = [
        _model([file for file in files if file.model == model]) for model in dict.fromkeys(f.model for f in files)
    ]
    found = [candidate for _, own in models for candidate in own]
    return {"models": [document for document, _ in models], "ranking": rank(found) if found else None}


def _model(files: Sequence[VerifiedFile]) -> tuple[Document, list[Candidate]]:
    marked = next((file for file in files if file.is_baseline), None)
    document: Document = {
        "model": files[0].model,
        "baseline": marked.vendor if marked else None,
        "comparisons": [],
        "notes": [],
    }
    if marked is None or len(files) == 1:
        document["notes"].append(NO_BASELINE if marked is None else NO_OTHER)
        return document, []
    baseline = next(_readable([marked], document["notes"]), None)
    if baseline is None:
        document["notes"].append(f"the baseline, {marked.vendor}, has no rows, so vendors were not compared")
        return document, []
    vendors: list[Results] = []
    others = [file for file in files if file is not marked]
    document["comparisons"] = compare(
        baseline, _each(others, baseline, vendors, document["notes"]), CompareOptions(force=True)
    )
    panels = {one["vendor"]["vendor"]: one["panel"] for one in document["comparisons"]}
    return document, _candidates(baseline, vendors, panels, document["notes"])


def _each(
    files: Sequence[VerifiedFile], baseline: Results, vendors: list[Results], notes: list[str]
) -> Iterator[Results]:
    """The vendors that have cases in common with the baseline, one in memory at a time.

    Args:
        vendors: to which each is added once it is done with, without what only comparisons need.
    """
    for results in _readable(files, notes):
        if _has_common(baseline, results, notes):
            yield results
            vendors.append(replace(results, rows=tuple(replace(row, measured=None) for row in results.rows)))
        # Before the next one is read.
        del results


def _readable(files: Sequence[VerifiedFile], notes: list[str]) -> Iterator[Results]:
    for file in files:
        try:
            yield replace(read_one(file.path), vendor=file.vendor, model=file.model)
        except DataError as error:
            notes.append(f"{file.vendor} is left out: {_line(error)}")


def _has_common(baseline: Results, vendor: Results, notes: list[str]) -> bool:
    try:
        pair(baseline, vendor, force=True)
    except UsageError as error:
        notes.append(f"{vendor.vendor} is left out: {_line(error)}")
        return False
    return True


def _candidates(
    baseline: Results, vendors: Sequence[Results], panels: dict[str, Document], notes: list[str]
) -> list[Candidate]:
    """The candidates; if settings differ, only those whose files are complete."""
    named = FileOptions(baselines=(baseline.vendor,), panels=panels)
    try:
        return candidates([baseline, *vendors], named)
    except UsageError as error:
        complete = [one for one in vendors if not pair(baseline, one, force=True).only_baseline]
        notes.append(f"ranked although {_line(error)}")
        notes += [f"{one.vendor} is not ranked, as it lacks cases" for one in vendors if one not in complete]
    return candidates([baseline, *complete], replace(named, force=True))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
