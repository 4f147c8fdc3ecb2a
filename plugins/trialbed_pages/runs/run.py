"""The list of runs, and the page of a run with its figures in the usual tables and a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from markupsafe import Markup

from trialbed.records import RunStatus, labels_in_words
from trialbed.report import Report, ScoreMean, run_settings
from trialbed.store import StoredRun, StoreReader
from trialbed.views import UNKNOWN, Bar, BarPlot, Folded, Table, compact, html_parts
from trialbed_pages.runs.figures import Headline, RunCache, RunFigures
from trialbed_plugins.reporters import run_tables, screen_tables

PAGE = 25
"""Runs on a page of the list."""

STATUSES = ("running", "interrupted", "incomplete", "finished")

MOST_NOTES = 4
"""Notes below the first table that are not folded."""

NEGLIGIBLE = 0.005
"""Smaller shares of a time are not drawn."""

TIME_PARTS = {"model_time": "model", "tool_time": "tools", "framework_time": "framework"}

WAITING, UNSPLIT = "waiting", "not known"
"""The names of time in which failed requests were repeated, and of time of which it is not known who took it."""


@dataclass(frozen=True)
class ListingPage:
    """The page of matching runs, newest first.

    Attributes:
        chosen: the values that runs are chosen by; an empty text is any.
        choices: the values that runs of the store can be chosen by.
        total: the number of runs in the store.
        rows: the runs of this page with their headline figures.
        more: whether there is a next page.
        place: the store's location.
    """

    chosen: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    page: int
    total: int
    rows: Sequence[tuple[StoredRun, Headline]]
    more: bool
    place: str


def listing_page(reader: StoreReader, cache: RunCache, chosen: Mapping[str, str], page: int = 1) -> ListingPage:
    """Return a page of the runs that fit; an unknown status is any."""
    named: dict[str, Any] = {name: chosen.get(name) or None for name in ("framework", "model", "dataset")}
    status = cast("RunStatus | None", chosen.get("status") if chosen.get("status") in STATUSES else None)
    tags, skipped = [*filter(None, [chosen.get("tag")])], (page - 1) * PAGE
    found = reader.runs(**named, status=status, tags=tags, limit=skipped + PAGE + 1)
    rows = [(run, _headline(run, cache)) for run in found[skipped : skipped + PAGE]]
    every = reader.runs()
    choices = {
        "framework": sorted({name for run in every for name in run.config.frameworks}),
        "model": sorted({model for run in every for model in run.config.models}),
        "dataset": sorted({run.config.test_set for run in every}),
        "status": STATUSES,
        "tag": sorted({tag for run in every for tag in run.tags}),
    }
    return ListingPage(chosen, choices, page, len(every), rows, len(found) > skipped + PAGE, reader.place)


def _headline(run: StoredRun, cache: RunCache) -> Headline:
    """Return the figures of a run; for a verification, the shares of requests with a valid answer."""
    headline = cache.headline(run)
    if run.record.kind != "endpoints":
        return headline
    rates = [(one.label, ScoreMean(one.success_rate, None, 0)) for one in run.record.endpoints]
    return replace(headline, means=sorted(rates, key=lambda rate: -(rate[1].value or 0.0)))


@dataclass(frozen=True)
class RunPage:
    """The page of a run."""

    figures: RunFigures

    @cached_property
    def report(self) -> Report:
        """Return the report with the best setups first; equal means stay in the run's order."""
        report, score = self.figures.report, self.figures.headline[0]
        ordered = sorted(report.frameworks, key=lambda one: -(self.figures.mean(one.framework, score).value or 0.0))
        return replace(report, frameworks=tuple(ordered))

    @cached_property
    def board(self) -> Markup:
        """The setups with what a trial takes; the notes on missing trials only once the run has ended."""
        setups, *others = screen_tables(self.report)
        notes = () if self.figures.run.status == "running" else setups.notes
        folded = [Folded(f"{len(notes)} notes", [Table("", notes=notes)])] if len(notes) > MOST_NOTES else []
        return html_parts("", [replace(setups, title="", notes=() if folded else notes), *others, *folded], "board")

    @cached_property
    def details(self) -> Markup:
        """The plot of times and, once the run has ended, all other tables: their notes say what it lacks."""
        times = time_plot(self.figures, [one.framework for one in self.report.frameworks])
        # Both start with the board's.
        tables = run_tables(self.report)[len(screen_tables(self.report)) :]
        shown = [] if self.figures.run.status == "running" else tables
        return html_parts("", [*([times] if times.names else []), *shown])

    @property
    def settings(self) -> list[tuple[str, str]]:
        """The run's settings, by name."""
        return list(run_settings(self.figures.run.record))


def time_plot(figures: RunFigures, setups: Sequence[str]) -> BarPlot:
    """Plot the mean time of a trial by the party that took it; the parts add up to the whole trial."""
    bars = [_time_bar(figures, name) for name in setups]
    title = "Where the time of a trial goes: means, in seconds"
    return BarPlot(title, bars, order=(*TIME_PARTS.values(), WAITING, UNSPLIT))


def _time_bar(figures: RunFigures, name: str) -> Bar:
    whole = figures.mean(name, "wall_time").value
    if whole is None:
        return Bar(labels_in_words(name), {}, UNKNOWN)
    found = {part: figures.mean(name, score).value for score, part in TIME_PARTS.items()}
    parts = {part: value for part, value in found.items() if value is not None}
    rest = whole - sum(parts.values())
    # Where every part is known, the rest is time in which the gateway repeated failed requests.
    parts |= {WAITING if len(parts) == len(found) else UNSPLIT: rest} if rest > NEGLIGIBLE * whole else {}
    return Bar(labels_in_words(name), parts, compact(whole))


def run_page(figures: RunFigures) -> RunPage:
    """Return the page of a run, which is kept with its figures."""
    return figures.once("run", lambda: RunPage(figures))
