"""The figures of a run as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.views import Row, compact, printable

Document = Mapping[str, Any]

AVERAGE = "average_"
SHOWN_AS_PARTS = ("average_gold_answer_time", "average_system_answer_time", "average_evaluation_time")
"""Averages that say what a score says, or nothing."""


def rows(documents: Sequence[Document]) -> list[Row]:
    """Every figure of these documents, in one order."""
    summaries = [document["summary"] for document in documents]
    return [
        Row("version", tuple(printable(document["metadata"]["framework_version"] or "?") for document in documents)),
        Row("trials answered (n)", tuple(_answered(summary) for summary in summaries)),
        *_errors(summaries),
        Row("solved/unsure/unsolved", tuple(_statuses(summary) for summary in summaries)),
        *(_average(name, summaries) for name in _names(summaries)),
    ]


def _answered(summary: Document) -> str:
    return f"{_n(summary)} of {summary['total_trials']}"


def _n(summary: Document) -> int:
    return int(summary["total_trials"]) - int(summary["error_count"])


def _errors(summaries: Sequence[Document]) -> list[Row]:
    """The failed trials by kind, if there are any."""
    cells = tuple(
        ", ".join(f"{count} {printable(kind)}" for kind, count in summary["errors"].items()) for summary in summaries
    )
    return [Row("errors", cells, alarming=True)] if any(cells) else []


def _statuses(summary: Document) -> str:
    counts = "/".join(str(summary[f"{status}_count"]) for status in ("solved", "unsure", "unsolved"))
    return counts + _other_n(summary, "solved")


def _names(summaries: Sequence[Document]) -> list[str]:
    """Every score of any framework; bounded ones first, as far as that can be told."""
    keys = [key for summary in summaries for key in summary if key.startswith(AVERAGE) and key not in SHOWN_AS_PARTS]
    names = list(dict.fromkeys(key.removeprefix(AVERAGE) for key in keys))
    return sorted(names, key=lambda name: any(name in summary["medians"] for summary in summaries))


def _average(name: str, summaries: Sequence[Document]) -> Row:
    unit = ", s" if name.endswith("_time") else ""
    return Row(f"{printable(name)}{unit}", tuple(_cell(name, summary) for summary in summaries))


def _cell(name: str, summary: Document) -> str:
    value = summary.get(f"{AVERAGE}{name}")
    if value is None:
        return "-"
    interval = summary["intervals"].get(name)
    if interval is None:
        return compact(value) + _other_n(summary, name)
    low, high = interval
    return f"{value:.2f} [{low:.2f}, {high:.2f}]" + _other_n(summary, name)


def _other_n(summary: Document, name: str) -> str:
    """The denominator, where it is not the answered trials."""
    n = summary["denominators"].get(name)
    return "" if n is None or n == _n(summary) else f" n={n}"
