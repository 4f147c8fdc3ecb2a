"""A vendor's history as tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.views import UNKNOWN, Table, number

Document = Mapping[str, Any]


def history_tables(document: Document) -> list[Table]:
    """One row per verification; the notes say what changed, and since when."""
    columns = ("verification", "cases", "trials", "success", "schema", "p", "evidence", "most unusual")
    title = f"{document['vendor']} with {document['model']}: {_verdict(document)}"
    return [Table.of(title, columns, map(_row, document["points"]), _notes(document))]


def _verdict(document: Document) -> str:
    tested = sum(point["p"] is not None for point in document["points"])
    if document["changes"]:
        return f"changed since {_moment(document['changes'][-1]['since'])}"
    return "no change was found" if tested else "nothing to compare yet"


def _row(point: Document) -> tuple[str, ...]:
    return (
        _moment(point["at"]),
        str(point["cases"]),
        str(point["trials"]),
        number(point["success_rate"]),
        number(point["schema_accuracy"]),
        number(point["p"]),
        UNKNOWN if point["evidence"] is None else number(point["evidence"], 2),
        point["most_unusual"] or UNKNOWN,
    )


def _notes(document: Document) -> Iterator[str]:
    for change in document["changes"]:
        yield (
            f"Its answers changed, most likely with the verification of {_moment(change['since'])}, in "
            f"{', '.join(change['subjects'])}; found on {_moment(change['found'])}."
        )
    yield (
        "p: how unusual the answers are among all of the same requests so far. evidence: for a change; one is reported "
        f"at {document['false_alarms_every']}, which an unchanged vendor reaches once in so many verifications at "
        "most, on average."
    )
    for point in document["points"]:
        if point["left_out"]:
            yield f"{_moment(point['at'])} was left out: {point['left_out']}."


def _moment(at: str) -> str:
    return at[:16].replace("T", " ")
