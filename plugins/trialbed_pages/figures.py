"""Figures for print: the plots of the pages, written into files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.records import shown_name
from trialbed.views import Plot, svg_file
from trialbed_pages.runs import RunFigures, differences
from trialbed_pages.runs.plots import cost_plot, latency_plot, rank_plot, score_plot, tokens_plot, waterfall_plot

FORMATS = ("svg", "png")

RESOLUTION = 200
"""Dots per inch of a PNG."""

LEAST_RANKED = 3
"""Frameworks of which ranks are made."""


def write_figure(figures: RunFigures, kind: str, path: Path, score: str) -> None:
    """Draw a figure of a run into a file; its ending is the format.

    Raises:
        UsageError: there is no such kind or format, the run has no trials or nothing to draw, or the extra is not
            installed.
        OSError: the file cannot be written.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no figure {kind!r}; there are {', '.join(KINDS)}")
    ending = path.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        raise UsageError(
            f"{path}: figures are written as {' or '.join(FORMATS)}; give the file one of these endings "
            "(rsvg-convert, Inkscape and browsers make PDF from SVG)"
        )
    run = figures.run
    if not len(figures.columns):
        raise UsageError(f"run {run.run_id} is {run.status} and has no trials: repeat its command until it has some")
    drawn = svg_file(KINDS[kind](figures, score))
    path.write_bytes(drawn.encode() if ending == "svg" else _png(drawn))


def _png(drawn: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise UsageError(
            f"PNG needs resvg_py, which is not installed ({error}); install it with: {extra_command('figures')}, "
            "or write the figure as .svg"
        ) from error
    picture = svg_to_bytes(svg_string=drawn, dpi=RESOLUTION)
    if picture == svg_to_bytes(svg_string=drawn, dpi=RESOLUTION, skip_system_fonts=True):
        raise UsageError(
            "the figure would have no texts: install a font, such as DejaVu Sans (apt install fonts-dejavu-core), "
            "or write the figure as .svg"
        )
    return bytes(picture)


def _cost(figures: RunFigures, score: str) -> Plot:
    return cost_plot(figures, score, figures.run.config.frameworks)


def _ranks(figures: RunFigures, score: str) -> Plot:
    ranks = differences(figures).ranks.get(score)
    count = len(figures.run.config.frameworks)
    if count < LEAST_RANKED:
        raise UsageError(f"ranks need three frameworks; run {figures.run.run_id} has {count}")
    if not ranks:
        raise UsageError(
            f"run {figures.run.run_id} has no ranks by {shown_name(score)}: they are by solved or api_call_score, and "
            "need a finished run"
        )
    return rank_plot(score, ranks)


KINDS: Mapping[str, Callable[[RunFigures, str], Plot]] = {
    "scores": score_plot,
    "cost": _cost,
    "tokens": tokens_plot,
    "latency": lambda figures, _: latency_plot(figures),
    "waterfall": lambda figures, _: waterfall_plot(figures),
    "ranks": _ranks,
}
