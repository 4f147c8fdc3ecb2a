"""Compares and ranks the vendors of one verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trialbed.errors import DataError, UsageError
from trialbed_verify.compare import CompareOptions, VendorComparison, compare
from trialbed_verify.panel import Panel
from trialbed_verify.ranking._ranks import Ranking, VendorMetrics, rank
from trialbed_verify.ranking._sources import FileOptions, candidates
from trialbed_verify.table import Answers, pair, read_one
from trialbed_verify.vendor_rows import VendorRows

NO_BASELINE = (
    "no vendor is marked as the baseline, so vendors were neither compared nor ranked; mark one with is_baseline: true"
)
NO_OTHER = "the baseline is the only vendor, so there is nothing to compare"


@dataclass(frozen=True)
class VerifiedRows:
    """The rows of a vendor of a verification."""

    model: str
    vendor: str
    source: VendorRows
    is_baseline: bool


@dataclass(frozen=True)
class ModelComparison:
    """The vendors of one model compared with its baseline; notes name those that could not be."""

    model: str
    baseline: str | None
    comparisons: tuple[VendorComparison, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """Return the heading of a table of it."""
        return f"{self.model} compared with {self.baseline}" if self.baseline else f"{self.model}: not compared"


@dataclass(frozen=True)
class VerifiedVendors:
    """The comparisons and ranks of the vendors of a verification; no ranking if none could be compared."""

    models: tuple[ModelComparison, ...] = ()
    ranking: Ranking | None = None

    @property
    def comparisons(self) -> list[VendorComparison]:
        """Return those of all models."""
        return [one for model in self.models for one in model.comparisons]

    @property
    def notes(self) -> list[str]:
        """Return those of all models."""
        return [note for model in self.models for note in model.notes]


def compare_and_rank(files: Sequence[VerifiedRows]) -> VerifiedVendors:
    """Compare vendors with their models' baselines and rank them, as far as the files allow; notes name the rest.

    Vendors are compared over the cases that both files have, even if their drivers force different settings; the
    comparisons name the rows that were left out and the settings that differ.
    """
    models, candidates_found = [], list[VendorMetrics]()
    for model in dict.fromkeys(file.model for file in files):
        found, ranked = _model([file for file in files if file.model == model])
        models.append(found)
        candidates_found += ranked
    return VerifiedVendors(tuple(models), rank(candidates_found) if candidates_found else None)


def _model(files: Sequence[VerifiedRows]) -> tuple[ModelComparison, list[VendorMetrics]]:
    marked = next((file for file in files if file.is_baseline), None)
    comparisons, ranked, notes = list[VendorComparison](), list[VendorMetrics](), list[str]()
    if marked is None:
        notes.append(NO_BASELINE)
    elif len(files) == 1:
        notes.append(NO_OTHER)
    elif (baseline := next(_readable([marked], notes), None)) is None:
        notes.append(f"the baseline, {marked.vendor}, has no rows, so vendors were not compared")
    else:
        vendors: list[Answers] = []
        others = [file for file in files if file is not marked]
        comparisons = compare(baseline, _each(others, baseline, vendors, notes), CompareOptions(force=True))
        ranked = _candidates(baseline, vendors, {one.vendor: one.panel for one in comparisons}, notes)
    name = marked.vendor if marked else None
    return ModelComparison(files[0].model, name, tuple(comparisons), tuple(notes)), ranked


def _each(
    files: Sequence[VerifiedRows], baseline: Answers, vendors: list[Answers], notes: list[str]
) -> Iterator[Answers]:
    """Yield the vendors that have cases in common with the baseline, one in memory at a time.

    Args:
        vendors: to which each is added once it is done with, without what only comparisons need.
    """
    for results in _readable(files, notes):
        if _has_common(baseline, results, notes):
            yield results
            vendors.append(replace(results, rows=tuple(replace(row, measured=None) for row in results.rows)))
        # Before the next one is read.
        del results


def _readable(files: Sequence[VerifiedRows], notes: list[str]) -> Iterator[Answers]:
    for file in files:
        try:
            yield replace(read_one(file.source), vendor=file.vendor, model=file.model)
        except DataError as error:
            notes.append(f"{file.vendor} is left out: {_line(error)}")


def _has_common(baseline: Answers, vendor: Answers, notes: list[str]) -> bool:
    try:
        pair(baseline, vendor, force=True)
    except UsageError as error:
        notes.append(f"{vendor.vendor} is left out: {_line(error)}")
        return False
    return True


def _candidates(
    baseline: Answers, vendors: Sequence[Answers], panels: dict[str, Panel], notes: list[str]
) -> list[VendorMetrics]:
    """Return the candidates; if settings differ, only those whose files are complete."""
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
