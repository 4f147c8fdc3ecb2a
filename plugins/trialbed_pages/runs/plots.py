"""The plots of a run, for its page and for ``bench figure``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialbed.errors import UsageError
from trialbed.records import labels_in_words
from trialbed.report import ScoreMean, read_report
from trialbed.report.attribution import STAGES, USED
from trialbed.scoring import score_heading, score_words
from trialbed.views import (
    UNKNOWN,
    Bar,
    BarPlot,
    Curve,
    DistributionPlot,
    IntervalPlot,
    Mark,
    PlotPoint,
    ScatterPlot,
    compact,
    estimate,
)
from trialbed_pages.runs.figures import COST, TOKENS, RunFigures

NEGLIGIBLE = 0.005
"""The share of a time below which a part of it is not drawn."""

UNITS = {TOKENS: ("tokens", "tokens"), COST: ("USD", "US dollars")}
"""What a trial takes -> its unit, and its name in titles."""

TIME_PARTS = {"model_time": "model", "tool_time": "tools", "framework_time": "framework"}

WAITING, UNSPLIT = "waiting", "not known"
"""The names of time in which failed requests were repeated, and of time of which it is not known who took it."""


def mean_text(mean: ScoreMean) -> str:
    """Return a mean with its interval as text."""
    low, high = mean.interval or (None, None)
    return estimate({"value": mean.value, "low": low, "high": high}, 2)


def score_plot(figures: RunFigures, score: str) -> IntervalPlot:
    """Plot a score of each framework with its interval."""
    points = []
    for name in figures.run.config.frameworks:
        mean = figures.mean(name, score)
        low, high = mean.interval or (None, None)
        points.append(PlotPoint(labels_in_words(name), mean.value, low, high, mean_text(mean)))
    return IntervalPlot(f"{score_heading(score)}, mean with its 95 % interval", points, (0.0, 1.0))


def cost_plot(figures: RunFigures, score: str, frameworks: Sequence[str]) -> ScatterPlot:
    """Plot a score against what a trial costs: money where that is known, else tokens."""
    priced = any(figures.median(name, COST) is not None for name in frameworks)
    return _plot_against(COST if priced else TOKENS, figures, score, frameworks)


def tokens_plot(figures: RunFigures, score: str) -> ScatterPlot:
    """Plot a score against tokens."""
    return _plot_against(TOKENS, figures, score, figures.run.config.frameworks)


def _plot_against(cost: str, figures: RunFigures, score: str, frameworks: Sequence[str]) -> ScatterPlot:
    """Plot a score, with its intervals, against what a trial takes."""
    unit, what = UNITS[cost]
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
    title = f"Where the time of a trial goes: means, in seconds{_on_first_trials(figures)}"
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


def latency_plot(figures: RunFigures) -> DistributionPlot:
    """Plot the share of trials that took no longer than a time."""
    curves = [Curve(labels_in_words(name), figures.times(name)) for name in figures.run.config.frameworks]
    title = f"Share of trials that took no longer than a time{_on_first_trials(figures)}"
    return DistributionPlot(title, "wall time of a trial without failure, in seconds", curves, "share of trials")


def _on_first_trials(figures: RunFigures) -> str:
    return ", without the first trial of each worker" if figures.leaves_out_first else ""


def waterfall_plot(figures: RunFigures) -> BarPlot:
    """Plot the stages at which expected calls were lost.

    Raises:
        UsageError: the stages are not known, as the dataset is out of reach or has no expected calls.
    """
    every = read_report(figures.run, figures.queries).frameworks
    summaries = [summary for summary in every if not summary.integrity.void]
    shares = {
        summary.framework: summary.attribution.shares
        for summary in summaries
        if summary.attribution is not None and summary.attribution.gold_calls
    }
    if not shares or len(shares) < len(summaries):
        raise UsageError(
            f"run {figures.run.run_id}: where expected calls were lost is not known; its dataset is out of reach, "
            "or has no expected calls"
        )
    stages = [USED, *(stage for stage in STAGES if any(own[stage] for own in shares.values()))]
    bars = [
        Bar(
            labels_in_words(name),
            {stage: own[stage] or 0.0 for stage in stages},
            f"{100 * (own[USED] or 0.0):.1f} % used",
        )
        for name, own in shares.items()
    ]
    return BarPlot("Share of expected calls that were used, or lost at a stage", bars, good=(USED,))


def rank_plot(score: str, ranks: Mapping[str, tuple[int, int]]) -> IntervalPlot:
    """Plot the ranks that are left open to each framework, the best first."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    points = [
        PlotPoint(
            labels_in_words(name),
            low if low == high else None,
            low,
            high,
            str(low) if low == high else f"{low} to {high}",
        )
        for name, (low, high) in ordered
    ]
    title = f"Ranks by {score_words(score)}; frameworks overlap where no difference is shown"
    return IntervalPlot(title, points, (0.5, len(ranks) + 0.5), whole=True)
