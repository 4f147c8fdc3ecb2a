"""The figures of published runs, which pages and files share."""

from __future__ import annotations

from trialbed.attribution import USED
from trialbed.records import STAGES, score_heading
from trialbed.scoring import JUDGED
from trialbed.views import Bar, BarPlot, IntervalPlot, Plot, PlotPoint, estimate
from trialbed_pages.publishing._numbers import PublishedFramework, PublishedMean, RunNumbers

TOKENS = "total_tokens"
NOTHING = PublishedMean(value=None)


def figures_of(run: RunNumbers) -> dict[str, Plot]:
    """Return the figures of a run by the names of their files."""
    drawn: dict[str, Plot] = {"solved": _plot_solved(run)}
    if any(stage != USED and count for one in run.frameworks for stage, count in one.gold_calls.items()):
        drawn["losses"] = _losses(run)
    return drawn


def mean_of(framework: PublishedFramework, score: str) -> PublishedMean:
    """Return the mean of a score; it has no value if the framework lacks the score."""
    return framework.scores.get(score, NOTHING)


def interval_text(mean: PublishedMean) -> str:
    """Return a mean with its interval as text."""
    return estimate(dict(mean), 2)


def _plot_solved(run: RunNumbers) -> IntervalPlot:
    means = [(one.label, mean_of(one, JUDGED)) for one in run.frameworks]
    points = [PlotPoint(label, mean.value, mean.low, mean.high, interval_text(mean)) for label, mean in means]
    return IntervalPlot(f"{score_heading(JUDGED)}: share of trials, with its 95 % interval", points, (0.0, 1.0))


def _losses(run: RunNumbers) -> BarPlot:
    every = [(one.label, one.gold_calls, sum(one.gold_calls.values())) for one in run.frameworks]
    known = [(label, counts, total) for label, counts, total in every if total]
    stages = [USED, *(stage for stage in STAGES if any(counts.get(stage) for _, counts, _ in known))]
    shares = [(label, {stage: own.get(stage, 0) / total for stage in stages}) for label, own, total in known]
    texts = [f"{100 * own.get(USED, 0) / total:.0f} % used" for _, own, total in known]
    bars = [Bar(label, own, text) for (label, own), text in zip(shares, texts, strict=True)]
    return BarPlot("Share of expected calls whose results were used, or lost at a stage", bars, good=(USED,))
