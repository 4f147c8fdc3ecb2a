"""The plots of a run's page."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.records import labels_in_words
from trialbed.scoring import score_heading, score_words
from trialbed.views import (
    UNKNOWN,
    Bar,
    BarPlot,
    Mark,
    ScatterPlot,
    compact,
)
from trialbed_pages.runs.figures import COST, TOKENS, RunFigures
from trialbed_plugins.reporters import mean_text

NEGLIGIBLE = 0.005
"""The share of a time below which a part of it is not drawn."""

TIME_PARTS = {"model_time": "model", "tool_time": "tools", "framework_time": "framework"}

WAITING, UNSPLIT = "waiting", "not known"
"""The names of time in which failed requests were repeated, and of time of which it is not known who took it."""


def cost_plot(figures: RunFigures, score: str, frameworks: Sequence[str]) -> ScatterPlot:
    """Plot a score, with its intervals, against the cost of a trial: money where that is known, else tokens."""
    priced = any(figures.median(name, COST) is not None for name in frameworks)
    cost, unit, what = (COST, "USD", "US dollars") if priced else (TOKENS, "tokens", "tokens")
    marks = []
    for name in frameworks:
        mean, each = figures.mean(name, score), figures.median(name, cost)
        text = f"{score_words(score)} {mean_text(mean)} for {compact(each)} {unit}"
        marks.append(Mark(labels_in_words(name), each, mean.value, text, mean.interval))
    title = f"{score_heading(score)} against {what} per trial"
    return ScatterPlot(title, f"{what} per trial, median", score_words(score), marks, y_limits=(0.0, 1.0))


def time_plot(figures: RunFigures, frameworks: Sequence[str]) -> BarPlot:
    """Plot the means of the time of a trial by the party that took it, which add up to that of the whole trial."""
    bars = [_time_bar(figures, name) for name in frameworks]
    left_out = ", without the first trial of each worker" if figures.leaves_out_first else ""
    title = f"Where the time of a trial goes: means, in seconds{left_out}"
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


def time_gaps(figures: RunFigures, frameworks: Sequence[str]) -> dict[str, list[str]]:
    """Return the parts of the time that are not known, for each framework that lacks any; all without a time at all."""
    found = {
        name: [part for score, part in TIME_PARTS.items() if figures.mean(name, score).value is None]
        for name in frameworks
    }
    return {name: parts for name, parts in found.items() if parts}
