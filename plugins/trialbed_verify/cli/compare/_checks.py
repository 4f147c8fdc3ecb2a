"""What keeps a comparison from being one of vendors, and what makes it fail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from trialbed.cli.thresholds import parse_thresholds
from trialbed.errors import UsageError

FIGURES = ("f1", "f1_answered", "precision", "recall", "success_rate", "schema_accuracy")
"""What --fail-under can name."""


def refuse_run(path: Path) -> None:
    """Say what to do where a run is named in place of a vendor's results.

    Raises:
        UsageError: there is no such file, or it is the document of a run.
    """
    if not path.is_file():
        raise UsageError(
            f"{path}: no such file; result files of bench verify are compared, and not yet runs by their id"
        )
    if path.suffix == ".json" and _is_run(path):
        raise UsageError(
            f"{path}: this is the document of a run of bench run; runs cannot be compared yet, only result files of "
            "bench verify (one JSON object per line)"
        )


def figure_thresholds(given: Sequence[str]) -> dict[str, float]:
    """Figure -> the least that it may be.

    Raises:
        UsageError: a text is not of the form FIGURE=X, or there is no such figure; says which there are.
    """
    thresholds = parse_thresholds(given, example="f1=0.73")
    unknown = [name for name in thresholds if name not in FIGURES]
    if unknown:
        raise UsageError(f"--fail-under: there is no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    return thresholds


def failing(documents: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float], verdicts: Sequence[str]) -> bool:
    """Whether a vendor is below a threshold or has one of these verdicts; says so on stderr."""
    problems = [problem for document in documents for problem in _problems(document, thresholds, verdicts)]
    for problem in problems:
        click.echo(problem, err=True)
    return bool(problems)


def _problems(document: Mapping[str, Any], thresholds: Mapping[str, float], verdicts: Sequence[str]) -> list[str]:
    vendor, found = document["vendor"]["vendor"], _figures(document)
    problems = [
        f"{vendor}: {name} is {'not known' if found[name] is None else format(found[name], '.4f')}, below {least:g}"
        for name, least in thresholds.items()
        if found[name] is None or found[name] < least
    ]
    finding = document["verdict"]["finding"]
    return problems + ([f"{vendor}: the verdict is {finding}"] if finding in verdicts else [])


def _figures(document: Mapping[str, Any]) -> dict[str, Any]:
    delivered, answered = document["similarity"]["delivered"], document["similarity"]["answered"]
    return {
        "f1": delivered["f1"]["value"],
        "f1_answered": answered["f1"]["value"],
        "precision": delivered["precision"]["value"],
        "recall": delivered["recall"]["value"],
        "success_rate": document["success_rate"]["vendor"]["value"],
        "schema_accuracy": document["schema_accuracy"]["vendor"]["per_response"]["value"],
    }


def _is_run(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and {"metadata", "summary", "results"} <= document.keys()
