"""The kinds of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed.report import read_report
from trialbed.report.attribution import STAGES, USED
from trialbed.views import printable
from trialbed_pages.figures._style import SETTINGS, colour, hatch, line, marker
from trialbed_pages.runs import RunFigures, differences
from trialbed_pages.runs.figures import TOKENS

FORMATS = ("svg", "png", "pdf")
RESOLUTION = 200
"""Dots per inch of a PNG."""

MARKED = 4
"""Marks on a curve, about."""

WIDTH = 6.3
"""Inches: the text of a page of A4."""


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes:
        about: what it shows, in a line.
        draw: draws the figures of a run by a score on axes.
        height: inches, without the rows.
        rows: inches of height for each framework.
    """

    about: str
    draw: Callable[[Any, RunFigures, str], None]
    height: float = 2.6
    rows: float = 0.0


def write_figure(figures: RunFigures, kind: str, path: Path, score: str) -> None:
    """Draw a figure of a run into a file; its ending is the format.

    Raises:
        UsageError: there is no such kind or format, the run has nothing to draw, or matplotlib is not installed.
        OSError: the file cannot be written.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no figure {kind!r}; there are {', '.join(KINDS)}")
    ending = path.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        raise UsageError(f"{path}: figures are written as {', '.join(FORMATS)}; give the file one of these endings")
    matplotlib = _matplotlib()
    with matplotlib.rc_context(SETTINGS):
        height = KINDS[kind].height + KINDS[kind].rows * len(figures.run.config.frameworks)
        figure = matplotlib.figure.Figure(figsize=(WIDTH, height), layout="constrained")
        KINDS[kind].draw(figure.add_subplot(), figures, score)
        metadata = {"Date": None} if ending == "svg" else {"CreationDate": None} if ending == "pdf" else {}
        figure.savefig(path, format=ending, dpi=RESOLUTION, metadata=metadata)


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise UsageError(
            f"figures need matplotlib, which is not installed ({error}); install it with: "
            "pip install 'trialbed[figures]'"
        ) from error
    return matplotlib


def _scores(axes: Any, figures: RunFigures, score: str) -> None:
    names = _names(figures)
    for place, name in enumerate(names):
        mean = figures.mean(name, score)
        if mean.value is None:
            continue
        ends = [[mean.value - mean.interval.low], [mean.interval.high - mean.value]] if mean.interval else None
        axes.errorbar([mean.value], [place], xerr=ends, fmt=marker(place), color=colour(place), capsize=3)
    _label_rows(axes, names)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{score}, mean with its 95 % interval")


def _cost(axes: Any, figures: RunFigures, score: str) -> None:
    most = 0.0
    for place, name in enumerate(_names(figures)):
        mean, tokens = figures.mean(name, score), figures.median(name, TOKENS)
        if mean.value is None or tokens is None:
            continue
        ends = [[mean.value - mean.interval.low], [mean.interval.high - mean.value]] if mean.interval else None
        most = max(most, tokens)
        axes.errorbar(
            [tokens], [mean.value], yerr=ends, fmt=marker(place), color=colour(place), capsize=3, label=printable(name)
        )
    # With room for the whole marker of the one that is furthest out.
    axes.set_xlim(0, 1.04 * (most or 1))
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("tokens per trial, median")
    axes.set_ylabel(score)
    _legend(axes)


def _latency(axes: Any, figures: RunFigures, _score: str) -> None:
    values = figures.columns.values.get("wall_time", {})
    for place, name in enumerate(_names(figures)):
        own = sorted(values[trial.row] for trial in figures.by_framework[name] if trial.row in values)
        if own:
            axes.ecdf(
                own,
                color=colour(place),
                linestyle=line(place),
                marker=marker(place),
                markersize=4,
                # Some marks on each curve, not all in one place.
                markevery=(place / (12 * MARKED), 1 / MARKED),
                label=printable(name),
            )
    axes.set_xlabel("wall time of a trial with an answer, in seconds")
    axes.set_ylabel("share of trials")
    axes.set_ylim(0, 1.04)
    axes.set_xlim(left=0)
    _legend(axes)


def _waterfall(axes: Any, figures: RunFigures, _score: str) -> None:
    report = read_report(figures.run, figures.queries)
    found = [summary.attribution for summary in report.frameworks]
    shares = [one.shares for one in found if one is not None and one.gold_calls]
    if not shares or len(shares) < len(found):
        where = f"run {figures.run.run_id}: where gold calls were lost is not known"
        raise UsageError(f"{where}; its dataset is out of reach, or has no gold calls")
    names, begun = _names(figures), [0.0] * len(shares)
    for place, stage in enumerate((*STAGES, USED)):
        parts = [one[stage] or 0.0 for one in shares]
        if any(parts):
            rows = range(len(names))
            # What was not lost stays in the background.
            fill = {"color": "#d9d9d9"} if stage == USED else {"color": colour(place), "hatch": hatch(place)}
            axes.barh(rows, parts, left=begun, edgecolor="white", height=0.7, label=stage, **fill)
        begun = [start + part for start, part in zip(begun, parts, strict=True)]
    _label_rows(axes, names)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of gold calls, by where they were lost")
    _legend(axes)


def _ranks(axes: Any, figures: RunFigures, score: str) -> None:
    ranks = differences(figures)["ranks"].get(score)
    if not ranks:
        raise UsageError(
            f"run {figures.run.run_id} has no ranks by {score}: they are by sopr_score or api_call_score, and need "
            "three frameworks and a finished run"
        )
    names = sorted(ranks, key=lambda name: ranks[name])
    for place, name in enumerate(names):
        low, high = ranks[name]
        axes.plot([low, high], [place, place], marker=marker(place), color=colour(place), linewidth=3)
    _label_rows(axes, names)
    axes.set_xticks(range(1, len(names) + 1))
    axes.set_xlabel(f"ranks by {score} that the comparisons of all pairs leave open")


def _names(figures: RunFigures) -> list[str]:
    return list(figures.run.config.frameworks)


def _label_rows(axes: Any, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), [printable(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


KINDS: Mapping[str, FigureKind] = {
    "scores": FigureKind("A score of each framework with its 95 % interval.", _scores, 0.8, 0.34),
    "cost": FigureKind("A score against the tokens of a trial.", _cost),
    "latency": FigureKind("The share of trials that took no longer than a time.", _latency),
    "waterfall": FigureKind("Where gold calls were lost, as shares.", _waterfall, 1.5, 0.34),
    "ranks": FigureKind("The ranks that are left open, ties included.", _ranks, 0.8, 0.34),
}
