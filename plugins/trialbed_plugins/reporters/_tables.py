"""The figures of a run as a table and as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.views import UNKNOWN, IntervalPlot, Point, Table, TableRow, compact, counts, estimate

Document = Mapping[str, Any]

AVERAGE = "average_"
SHOWN_AS_PARTS = ("average_gold_answer_time", "average_system_answer_time", "average_evaluation_time")
"""Averages that repeat a score, or have no value."""

REFERENCE = "reference"
"""The framework that the others are compared with; it is repeated in every block of a folded table."""

LEGEND = {
    "sopr_score": "tasks solved, as the judge finds (unsure counts half)",
    "api_call_score": "share of the gold Apis that were called",
    "api_precision": "share of the called Apis that are gold",
    "api_f1": "the harmonic mean of api_call_score and api_precision",
    "has_finish": "the agent ended by itself",
    "claimed_vs_observed": "agreement of the calls that it reports with those that the server saw",
    "model_turns": "requests that the model answered",
    "framework_time": "wall time that is neither the model's nor the tools'",
}
"""The meaning of scores whose names do not say it."""


def run_table(documents: Sequence[Document]) -> Table:
    """Every figure of a run: frameworks are columns."""
    names = [document["metadata"]["agent_name"] for document in documents]
    pinned = 1 if names[0] == REFERENCE and len(names) > 1 else 0
    return Table(_heading(documents[0]), ("", *names), _rows(documents), list(_notes(documents)), pinned=pinned)


def run_plots(documents: Sequence[Document]) -> list[IntervalPlot]:
    """Every score that has intervals, with one point per framework."""
    summaries = [document["summary"] for document in documents]
    bounded = [name for name in score_names(summaries) if any(name in found["intervals"] for found in summaries)]
    return [
        IntervalPlot(
            f"{name}: {LEGEND[name]}" if name in LEGEND else name,
            [_point(name, document) for document in documents],
            limits=(0.0, 1.0),
        )
        for name in bounded
    ]


def run_records(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One record per framework and score."""
    return [
        {
            "agent_name": document["metadata"]["agent_name"],
            "framework_version": document["metadata"]["framework_version"],
            "test_set": document["metadata"]["test_set"],
            "model": document["metadata"]["model"],
            "run_id": document["metadata"]["run_id"],
            "score": name,
            **_record(name, document["summary"]),
        }
        for document in documents
        for name in score_names([document["summary"]])
    ]


def score_names(summaries: Sequence[Document]) -> list[str]:
    """Every score of any framework; bounded ones first, as far as that is known."""
    keys = [key for summary in summaries for key in summary if key.startswith(AVERAGE) and key not in SHOWN_AS_PARTS]
    names = list(dict.fromkeys(key.removeprefix(AVERAGE) for key in keys))
    return sorted(names, key=lambda name: any(name in summary["medians"] for summary in summaries))


def _record(name: str, summary: Document) -> dict[str, Any]:
    low, high = summary["intervals"].get(name) or (None, None)
    return {
        "mean": summary.get(f"{AVERAGE}{name}"),
        "low": low,
        "high": high,
        "median": summary["medians"].get(name),
        "n": summary["denominators"].get(name),
        "trials": summary["total_trials"],
        "errors": summary["error_count"],
    }


def _point(name: str, document: Document) -> Point:
    summary = document["summary"]
    low, high = summary["intervals"].get(name) or (None, None)
    return Point(document["metadata"]["agent_name"], summary.get(f"{AVERAGE}{name}"), low, high, _cell(name, summary))


def _heading(document: Document) -> str:
    """The subject and the settings of a run, which are the same for every framework."""
    about = document["metadata"]
    queries = "1 query" if about["num_queries"] == 1 else f"{about['num_queries']} queries"
    return (
        f"{about['test_set']}: {queries}, model {about['model']}, "
        f"judge {about['evaluator_model']}, selector {about['selector']}, seed {about['seed']}, run {about['run_id']}"
    )


def _rows(documents: Sequence[Document]) -> list[TableRow]:
    summaries = [document["summary"] for document in documents]
    return [
        TableRow("version", tuple(document["metadata"]["framework_version"] or UNKNOWN for document in documents)),
        TableRow("trials answered (n)", tuple(_answered(summary) for summary in summaries)),
        *_errors(summaries),
        TableRow("solved/unsure/unsolved", tuple(_statuses(summary) for summary in summaries)),
        *(_average(name, summaries) for name in score_names(summaries)),
    ]


def _answered(summary: Document) -> str:
    return f"{_n(summary)} of {summary['total_trials']}"


def _n(summary: Document) -> int:
    return int(summary["total_trials"]) - int(summary["error_count"])


def _errors(summaries: Sequence[Document]) -> list[TableRow]:
    """The failed trials by kind, if there are any."""
    cells = tuple(counts(summary["errors"]) for summary in summaries)
    return [TableRow("errors", cells, alarming=True)] if any(cells) else []


def _statuses(summary: Document) -> str:
    counts = "/".join(str(summary[f"{status}_count"]) for status in ("solved", "unsure", "unsolved"))
    return counts + _other_n(summary, "solved")


def _average(name: str, summaries: Sequence[Document]) -> TableRow:
    unit = ", s" if name.endswith("_time") else ""
    return TableRow(f"{name}{unit}", tuple(_cell(name, summary) for summary in summaries))


def _cell(name: str, summary: Document) -> str:
    value = summary.get(f"{AVERAGE}{name}")
    if value is None:
        return UNKNOWN
    interval = summary["intervals"].get(name)
    if interval is None:
        return compact(value) + _other_n(summary, name)
    return estimate({"value": value, "low": interval[0], "high": interval[1]}, 2) + _other_n(summary, name)


def _other_n(summary: Document, name: str) -> str:
    """The denominator, where it is not the answered trials."""
    n = summary["denominators"].get(name)
    return "" if n is None or n == _n(summary) else f" n={n}"


def _notes(documents: Sequence[Document]) -> Iterator[str]:
    """Notes on how to read the table, and on facts about frameworks that matter for it."""
    level = documents[0]["summary"]["interval_level"]
    yield (
        "Means are over the n trials that ended with an answer, or over the n next to a value. Failed trials are "
        "excluded. "
        f"[low, high] is the {level:.0%} Wilson interval, clustered by query."
    )
    shown = score_names([document["summary"] for document in documents])
    yield from (f"{name}: {meaning}." for name, meaning in LEGEND.items() if name in shown)
    for document in documents:
        for note in _own(document):
            yield f"{document['metadata']['agent_name']}: {note}"


def _own(document: Document) -> Iterator[str]:
    about, summary = document["metadata"], document["summary"]
    if about["deviations"]:
        yield f"declared deviations: {'; '.join(about['deviations'])}"
    claims = summary["claims"]
    if claims["invented"] or claims["unreported"]:
        yield (
            f"claims differ from the wire: {claims['invented']} calls claimed and never made, "
            f"{claims['unreported']} made and never claimed"
        )
    for score, count in summary["untold_scores"].items():
        yield f"{score} could not be determined for {count} answered trials"
