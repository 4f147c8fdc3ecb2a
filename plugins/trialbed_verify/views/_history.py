"""A vendor's history as tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.views import UNKNOWN, Table, number

Document = Mapping[str, Any]


def history_tables(document: Document) -> list[Table]:
    """One row per verification; the notes say what changed, and since when."""
    columns = ("verification", "cases", "trials", "success", "schema", "p", "evidence", "most unusual")
    moments = _moments(document["points"])
    title = f"{document['vendor']} with {document['model']}: {_verdict(document, moments)}"
    rows = [_row(point, moments) for point in document["points"]]
    return [Table.of(title, columns, rows, _notes(document, moments))]


def _moments(points: Sequence[Document]) -> dict[str, str]:
    """The moment of each point as it is shown: to the minute, or more exactly where that would be that of several."""
    whole = [point["at"] for point in points]
    for length in (16, 19):
        if len({at[:length] for at in whole}) == len(set(whole)):
            return {at: at[:length].replace("T", " ") for at in whole}
    return {at: at.replace("T", " ") for at in whole}


def _verdict(document: Document, moments: Mapping[str, str]) -> str:
    tested = sum(point["p"] is not None for point in document["points"])
    if document["changes"]:
        return f"changed since {moments[document['changes'][-1]['since']]}"
    return "no change was found" if tested else "nothing to compare yet"


def _row(point: Document, moments: Mapping[str, str]) -> tuple[str, ...]:
    return (
        moments[point["at"]],
        str(point["cases"]),
        str(point["trials"]),
        number(point["success_rate"]),
        number(point["schema_accuracy"]),
        number(point["p"]),
        UNKNOWN if point["evidence"] is None else number(point["evidence"], 2),
        point["most_unusual"] or UNKNOWN,
    )


def _notes(document: Document, moments: Mapping[str, str]) -> Iterator[str]:
    for change in document["changes"]:
        yield (
            f"Its answers changed, most likely with the verification of {moments[change['since']]}, in "
            f"{', '.join(change['subjects'])}; found on {moments[change['found']]}."
        )
    yield (
        "p: how unusual the answers are among all of the same requests so far. evidence: for a change; one is reported "
        f"at {document['false_alarms_every']}, which an unchanged vendor reaches at most once in that many "
        "verifications, on average."
    )
    for point in document["points"]:
        if point["left_out"]:
            yield f"{moments[point['at']]} was left out: {point['left_out']}."
