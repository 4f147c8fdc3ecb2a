"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from trialbed.records import RunStatus
from trialbed.store import StoredRun, StoreReader
from trialbed_pages.runs.figures import FigureCache

PAGE = 25
"""Runs on a page."""

STATUSES = ("running", "interrupted", "incomplete", "finished")


@dataclass(frozen=True)
class RunFilter:
    """Which runs are listed; an empty text is any."""

    framework: str = ""
    model: str = ""
    dataset: str = ""
    status: str = ""
    tag: str = ""
    page: int = 1


def listing_page(reader: StoreReader, cache: FigureCache, chosen: RunFilter) -> dict[str, Any]:
    """What the list shows of the runs that fit, newest first."""
    status = cast("RunStatus | None", chosen.status if chosen.status in STATUSES else None)
    skipped = (chosen.page - 1) * PAGE
    found = reader.runs(
        framework=chosen.framework or None,
        model=chosen.model or None,
        dataset=chosen.dataset or None,
        status=status,
        tags=[chosen.tag] if chosen.tag else [],
        limit=skipped + PAGE + 1,
    )
    # What can be chosen is known from every run, of which there may be thousands.
    choices = cache.of_store(reader.mark, lambda: _choices(reader.runs()))
    return {
        **choices,
        "runs": [_row(run, cache) for run in found[skipped : skipped + PAGE]],
        "chosen": chosen,
        "more": len(found) > skipped + PAGE,
        "place": reader.place,
        "statuses": STATUSES,
    }


def _choices(every: Sequence[StoredRun]) -> dict[str, Any]:
    return {
        "total": len(every),
        "frameworks": sorted({name for run in every for name in run.config.frameworks}),
        "models": sorted({run.config.model for run in every}),
        "tags": sorted({tag for run in every for tag in run.tags}),
        "datasets": sorted({run.config.test_set for run in every}),
    }


def _row(run: StoredRun, cache: FigureCache) -> dict[str, Any]:
    return {"run": run, "total": run.record.planned, **cache.headline(run)}
