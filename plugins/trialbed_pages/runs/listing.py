"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from trialbed.records import RunStatus
from trialbed.report import percent
from trialbed.scoring import JUDGED, score_words
from trialbed.store import StoredRun, StoreReader
from trialbed_pages.runs.figure_cache import FigureCache
from trialbed_pages.runs.headlines import FigureMean, Headline

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
    """The page of the runs that fit, newest first.

    Attributes:
        rows: the runs of this page with their headline figures.
        more: whether there is a next page.
        place: where the store is.
    """

    chosen: RunFilter
    choices: RunChoices
    rows: Sequence[tuple[StoredRun, Headline]]
    more: bool
    place: str

    @property
    def newest(self) -> str:
        """The result of the newest run in a sentence; empty on other pages, of chosen runs, and until it has one."""
        if self.chosen != RunFilter() or not self.rows:
            return ""
        run, headline = self.rows[0]
        if run.status == "running" or headline.score == ANSWERED:
            return ""
        known = [(name, mean.value) for name, mean in headline.means if mean.value is not None]
        return f"In the newest run, {_range(headline.score, known)}." if known else ""


def _range(score: str, means: Sequence[tuple[str, float]]) -> str:
    """Return which frameworks have the highest and the lowest mean as it is shown, as the end of a sentence."""
    shown = percent if score == JUDGED else "{:.2f}".format
    by_mean: dict[str, list[str]] = {}
    for name, mean in means:
        by_mean.setdefault(shown(mean), []).append(name)
    most, least = next(iter(by_mean)), next(reversed(by_mean))
    if most == least:
        who = means[0][0] if len(means) == 1 else f"each of the {len(means)} set-ups"
        return f"{who} solves {most} of its queries" if score == JUDGED else f"{who} has {most} in {score_words(score)}"
    best, worst = _names(by_mean[most]), _names(by_mean[least])
    if score != JUDGED:
        return f"{score_words(score)} goes from {least} ({worst}) to {most} ({best})"
    verb, of = ("solves", "its") if len(by_mean[most]) == 1 else ("solve", "their")
    return f"{best} {verb} the most of {of} queries, {most}, and {worst} the least, {least}"


def _names(names: Sequence[str]) -> str:
    """Return names as a sentence has them: with commas, and "and" before the last."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def listing_page(reader: StoreReader, cache: FigureCache, chosen: RunFilter) -> ListingPage:
    """Return the page of the runs that fit."""
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
    # The choices come from every run, of which there may be thousands.
    choices = cache.of_store(reader.mark, lambda: _choices(reader.runs()))
    rows = [(run, _told(run, cache.headline(run))) for run in found[skipped : skipped + PAGE]]
    return ListingPage(chosen, choices, rows, len(found) > skipped + PAGE, reader.place)


def _told(run: StoredRun, headline: Headline) -> Headline:
    """Return the figures of a run; of a verification, the shares of requests with a valid answer."""
    if run.record.kind != "endpoints":
        return headline
    rates = [(one.label, FigureMean(one.success_rate, None, 0)) for one in run.record.endpoints]
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
