"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from trialbed.records import RunStatus
from trialbed.report import ScoreMean
from trialbed.store import StoredRun, StoreReader
from trialbed_pages.runs.figures import Headline, RunCache

PAGE = 25
"""Runs on a page."""

ANSWERED = "answered"
"""The heading of a verification's shares."""

STATUSES = ("running", "interrupted", "incomplete", "finished")


@dataclass(frozen=True)
class RunFilter:
    """The choice of runs; an empty text is any."""

    framework: str = ""
    model: str = ""
    dataset: str = ""
    status: str = ""
    tag: str = ""
    page: int = 1


@dataclass(frozen=True)
class RunChoices:
    """The values that the runs of a store can be chosen by, and the number of runs."""

    total: int
    framework: Sequence[str]
    model: Sequence[str]
    dataset: Sequence[str]
    status: Sequence[str]
    tag: Sequence[str]


@dataclass(frozen=True)
class ListingPage:
    """The page of matching runs, newest first.

    Attributes:
        rows: the runs of this page with their headline figures.
        more: whether there is a next page.
        place: the store's location.
    """

    chosen: RunFilter
    choices: RunChoices
    rows: Sequence[tuple[StoredRun, Headline]]
    more: bool
    place: str


def listing_page(reader: StoreReader, cache: RunCache, chosen: RunFilter) -> ListingPage:
    """Return the page of the runs that fit."""
    status = cast("RunStatus | None", chosen.status if chosen.status in STATUSES else None)
    skipped = (chosen.page - 1) * PAGE
    named = {name: getattr(chosen, name) or None for name in ("framework", "model", "dataset")}
    tags = [chosen.tag] if chosen.tag else []
    found = reader.runs(**named, status=status, tags=tags, limit=skipped + PAGE + 1)
    choices = _choices(reader.runs())
    rows = [(run, _told(run, cache.headline(run))) for run in found[skipped : skipped + PAGE]]
    return ListingPage(chosen, choices, rows, len(found) > skipped + PAGE, reader.place)


def _told(run: StoredRun, headline: Headline) -> Headline:
    """Return the figures of a run; for a verification, the shares of requests with a valid answer."""
    if run.record.kind != "endpoints":
        return headline
    rates = [(one.label, ScoreMean(one.success_rate, None, 0)) for one in run.record.endpoints]
    return replace(headline, score=ANSWERED, means=sorted(rates, key=lambda rate: -(rate[1].value or 0.0)))


def _choices(every: Sequence[StoredRun]) -> RunChoices:
    return RunChoices(
        total=len(every),
        framework=sorted({name for run in every for name in run.config.frameworks}),
        model=sorted({model for run in every for model in run.config.models}),
        dataset=sorted({run.config.test_set for run in every}),
        status=STATUSES,
        tag=sorted({tag for run in every for tag in run.tags}),
    )
