"""The comparisons of a run's frameworks, as tables below its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.comparison import finding_cells, signed, verdict_notes
from trialbed.views import Table

Document = Mapping[str, Any]

COLUMNS = ("", "score", "difference", "changed", "p", "verdict")


def comparison_tables(documents: Sequence[Document]) -> list[Table]:
    """A table of every framework against the reference, and one of native profiles against controlled ones."""
    found = [(document, one) for document in documents for one in document["summary"].get("comparisons", ())]
    tables = []
    for kind in ("reference", "profile"):
        own = [(document, one) for document, one in found if one["kind"] == kind and one["scores"]]
        if own:
            tables.append(_table(kind, own))
    return tables


def _table(kind: str, found: Sequence[tuple[Document, Document]]) -> Table:
    title = f"compared with {found[0][1]['against']}" if kind == "reference" else "native compared with controlled"
    findings = [finding for _, one in found for finding in one["scores"].values()]
    rows = [row for document, one in found for row in _rows(kind, document, one)]
    return Table.of(title, COLUMNS, rows, _notes(kind, findings))


def _rows(kind: str, document: Document, comparison: Document) -> Iterator[tuple[str, ...]]:
    about = document["metadata"]
    label = about["agent_name"] if kind == "reference" else about["agent_name"].replace(":native", "", 1)
    for place, (score, finding) in enumerate(comparison["scores"].items()):
        changed = f"{len(finding['better']) + len(finding['worse'])} of {finding['n']}"
        yield (label if place == 0 else "", score, signed(finding), changed, *finding_cells(finding))


def _notes(kind: str, findings: Sequence[Document]) -> Iterator[str]:
    yield "difference: the mean over the queries that both have, with its 95% interval. A failed trial is 0."
    yield "changed: queries on which the two differ."
    yield from verdict_notes(findings)
    if kind == "profile":
        yield "A difference is what the framework's own defaults bring (+) or cost (-)."
