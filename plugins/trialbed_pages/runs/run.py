"""One run: who did how well, at what cost, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed.report.comparison import HEADLINE as COMPARED
from trialbed.report.comparison import ComparedTrial, Side, chosen_baseline, open_ranks, paired_findings
from trialbed.settings import MARGIN
from trialbed.wire.redaction import shown_url
from trialbed_pages.runs.figures import HEADLINE, TIMES, TOKENS, RunFigures
from trialbed_pages.runs.plots import cost_plot, rank_plot, time_plot

WORST = 5
"""Queries that are named as the worst."""


def run_page(figures: RunFigures, score: str) -> dict[str, Any]:
    """What the page of a run shows.

    Args:
        score: the bounded score by which frameworks are compared.
    """
    return figures.once(("run", score), lambda: _run_page(figures, score))


def _run_page(figures: RunFigures, score: str) -> dict[str, Any]:
    run = figures.run
    # The best first; those of one mean stay in the run's order.
    rows = sorted((_row(figures, name, score) for name in run.config.frameworks), key=_place)
    names = [row["name"] for row in rows]
    return {
        "run": run,
        "score": score,
        "scores": figures.quality or [score],
        "rows": rows,
        "settings": _settings(figures),
        "cost_plot": cost_plot(figures, score, names, intervals=False),
        "time_plot": time_plot(figures, names),
        "worst": _worst(figures, score),
        "has_tasks": figures.queries is not None,
        "answered": sum(row["answered"] for row in rows),
        "ended": len(figures.columns.trials),
        "total": figures.planned * len(rows),
    }


def _place(row: Mapping[str, Any]) -> float:
    """Where a framework stands among the others: below all where its score is not known."""
    value: float | None = row["chosen"].value
    return 1.0 if value is None else -value


def differences(figures: RunFigures) -> dict[str, Any]:
    """The paired differences to the reference, and the ranks that are left open."""
    return figures.once("differences", lambda: _differences(figures))


def _differences(figures: RunFigures) -> dict[str, Any]:
    sides = {name: _side(figures, name) for name in figures.run.config.frameworks}
    baseline = chosen_baseline(list(sides), None)
    pairs = [(sides[baseline], side) for name, side in sides.items() if name != baseline]
    found = paired_findings(pairs, MARGIN) if figures.run.status != "running" else []
    ranks = open_ranks(list(sides.values()), MARGIN) if figures.run.status == "finished" else {}
    return {
        "run": figures.run,
        "baseline": baseline,
        "scores": [name for name in COMPARED if any(one.score == name for one in found)],
        "findings": found,
        "ranks": ranks,
        "rank_plots": [rank_plot(score, own) for score, own in ranks.items()],
        "margin": MARGIN,
    }


def _row(figures: RunFigures, name: str, score: str) -> dict[str, Any]:
    ends = figures.ends(name)
    known = {info.name: info for info in figures.run.frameworks}
    return {
        "name": name,
        "version": known[name].version if name in known else "",
        "answered": ends["answered"],
        "failed": ends["failed"],
        "not_measured": figures.planned - ends["answered"] - ends["failed"],
        "planned": figures.planned,
        "chosen": figures.mean(name, score),
        "headline": [(own, figures.mean(name, own)) for own in HEADLINE if own != score],
        "tokens": figures.median(name, TOKENS),
        "times": {own: figures.median(name, own) for own in TIMES},
        "failures": figures.failures(name).most_common(),
    }


def _settings(figures: RunFigures) -> list[tuple[str, str]]:
    config = figures.run.config
    given = {
        "dataset": f"{config.dataset} ({config.test_set}), sha256 {config.dataset_digest[:12]}",
        "queries": f"{len(config.query_ids)} x {config.repeat}",
        "model": config.model,
        "endpoint": shown_url(config.base_url) if config.base_url else "",
        "judge": config.judge,
        "selector": config.selector,
        "seed": str(config.seed),
        "temperature": "" if config.temperature is None else f"{config.temperature:g}",
        "max steps": str(config.max_steps),
        "timeout": f"{config.timeout:g} s",
        "Trialbed": config.trialbed_version,
    }
    return [(name, text) for name, text in given.items() if text]


def _worst(figures: RunFigures, score: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for value, query_id in figures.worst(score):
        if value >= 1 or len(found) == WORST:
            break
        cells = [(name, figures.cells.get((name, query_id), ())) for name in figures.run.config.frameworks]
        trials = [trial for _, own in cells for trial in own]
        worst = min(trials, key=lambda trial: _worth(figures.value(trial, score)))
        found.append({"query": query_id, "text": figures.text(query_id), "value": value, "trial": worst})
    return found


def _worth(value: float | None) -> float:
    """What is not measured says nothing, and comes last."""
    return 2.0 if value is None else value


def _side(figures: RunFigures, name: str) -> Side:
    """The trials of a framework as comparisons take them."""
    kinds = figures.columns.kinds
    trials = [
        ComparedTrial(
            trial.key.query_id,
            {score: value for score in HEADLINE if (value := figures.value(trial, score)) is not None}
            if trial.status == "answered"
            else {},
            failure=trial.failure or "",
            measured=trial.status != "not measured",
            repeat=trial.key.repeat,
        )
        for trial in figures.by_framework.get(name, ())
    ]
    bounded = frozenset(score for score in HEADLINE if score in kinds and kinds[score].bounded)
    return Side(figures.run.run_id, name, {}, trials, bounded, bounded)
