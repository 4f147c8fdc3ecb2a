"""A ranking as tables of text and as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.views import UNKNOWN, Table, number
from trialbed_verify.ranking import METRICS

Document = Mapping[str, Any]

DIGITS = {"tps": 2, "ttft_ms": 1, "avg_token": 1}


def ranking_tables(document: Document, *, reasons: bool = True) -> list[Table]:
    """A table per model, and one of all if there are several.

    Args:
        reasons: say why vendors differ from the baseline; tables of their comparisons say so already.
    """
    tables = [_table(found["model"], found, document, reasons=reasons) for found in document["models"]]
    if len(tables) > 1:
        tables.append(_table("all models", document["global"], document, of_all=True, reasons=False))
    if document["notes"]:
        tables.append(Table("Note", notes=[f"{note}." for note in document["notes"]]))
    return tables


def ranking_records(document: Document) -> list[dict[str, Any]]:
    """One record per model and vendor, with the places in its model and among all."""
    overall = {(row["model"], row["vendor"]): row for _, row in _rows(document["global"])}
    return [
        _record(status, row, overall[row["model"], row["vendor"]])
        for found in document["models"]
        for status, row in _rows(found)
    ]


def _rows(standing: Document) -> Iterator[tuple[str, Document]]:
    for status in ("ranked", "behind", "not_ranked"):
        yield from ((status, row) for row in standing[status])


def _table(title: str, standing: Document, document: Document, *, of_all: bool = False, reasons: bool) -> Table:
    intervals = document["resamples"] is not None
    columns = ["vendor", "rank", *(["rank 95 %"] if intervals else []), "IRF"]
    columns += [METRICS[metric].label for metric in document["metrics"]]
    rows = [
        _cells(status, row, document["metrics"], intervals=intervals, of_all=of_all) for status, row in _rows(standing)
    ]
    heading = f"{title}: IRF over {_count(document['metrics'])}, k = {document['k']}"
    if not standing["ranked"]:
        heading += "; no vendor is ranked"
    return Table.of(heading, columns, rows, _notes(standing, document["metrics"], of_all=of_all, reasons=reasons))


def _count(metrics: Sequence[str]) -> str:
    return "six metrics" if len(metrics) == len(METRICS) else f"{len(metrics)} of six metrics"


def _cells(status: str, row: Document, metrics: Sequence[str], *, intervals: bool, of_all: bool) -> list[str]:
    cells = [_name(row, of_all=of_all) + "*" * row["is_baseline"] + _mark(row), _place(status, row)]
    if intervals:
        cells.append(_range(row))
    cells.append(number(row["irf"]) if status == "ranked" else UNKNOWN)
    return cells + [number(row["metrics"][name]["value"], DIGITS.get(name, 4)) for name in metrics]


def _mark(row: Document) -> str:
    """Behind the name of a vendor that is shown to differ from the baseline, whatever its rank."""
    return " (different)" if row["panel"] and row["panel"]["finding"] == "different" else ""


def _place(status: str, row: Document) -> str:
    if status == "not_ranked":
        return UNKNOWN
    return f"{row['rank']}{' tie' * row['tie']}{' last' * (status == 'behind')}"


def _range(row: Document) -> str:
    return UNKNOWN if row.get("rank_low") is None else f"{row['rank_low']}-{row['rank_high']}"


def _name(row: Document, *, of_all: bool) -> str:
    return f"{row['vendor']} ({row['model']})" if of_all else str(row["vendor"])


def _notes(standing: Document, metrics: Sequence[str], *, of_all: bool, reasons: bool) -> Iterator[str]:
    yield from _ties(standing["ranked"], of_all=of_all)
    yield from _shared_ranks(standing["ranked"], metrics, of_all=of_all)
    for status, words in (("behind", "placed last"), ("not_ranked", "not ranked")):
        found = [(_name(row, of_all=of_all), "; ".join(row["reasons"])) for row in standing[status]]
        yield from (f"{names} {verb} {words}: {reason}." for names, verb, reason in _alike(found))
    different = [(_name(row, of_all=of_all), row["panel"]["reason"]) for _, row in _rows(standing) if _mark(row)]
    if reasons:
        for names, verb, reason in _alike(different):
            yield f"{names} {verb} not the baseline's equal{'s' * (verb == 'are')}: {reason}."
    starred = [
        (f"{_name(row, of_all=of_all)}{'*' * row['is_baseline']}", note)
        for _, row in _rows(standing)
        for note in row["notes"]
    ]
    yield from (f"{names}: {note}." for names, _, note in _alike(starred))


def _alike(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Each text once: the names that it is true of, the verb for so many, and the text."""
    texts: dict[str, list[str]] = {}
    for name, text in found:
        texts.setdefault(text, []).append(name)
    for text, names in texts.items():
        yield ", ".join(names), "is" if len(names) == 1 else "are", text


def _ties(ranked: list[Document], *, of_all: bool) -> Iterator[str]:
    """Vendors with equal scores, or whose order the data do not settle."""
    names = {(row["model"], row["vendor"]): _name(row, of_all=of_all) for row in ranked}
    for place, row in enumerate(ranked, 1):
        own = [tuple(name) for name in row["tied_with"] or ()]
        others = [names[key] for other in ranked[place:] if (key := (other["model"], other["vendor"])) in own]
        if others:
            yield f"{_name(row, of_all=of_all)} ties with {', '.join(others)}: neither is ahead in 95 % of resamples."


def _shared_ranks(ranked: list[Document], metrics: Sequence[str], *, of_all: bool) -> Iterator[str]:
    """Vendors that are equal in a metric, and the rank that they share there."""
    for metric in metrics:
        sharing: dict[float, list[str]] = {}
        for row in ranked:
            sharing.setdefault(row["ranks"][metric], []).append(_name(row, of_all=of_all))
        for rank, names in sorted(sharing.items()):
            if len(names) > 1:
                yield f"Equal in {METRICS[metric].label}, rank {rank:g} each: {', '.join(names)}."


def _record(status: str, row: Document, overall: Document) -> dict[str, Any]:
    return {
        "model": row["model"],
        "vendor": row["vendor"],
        "status": status,
        "rank": row.get("rank"),
        "tie": row.get("tie"),
        "rank_low": row.get("rank_low"),
        "rank_high": row.get("rank_high"),
        "irf": row.get("irf"),
        "global_rank": overall.get("rank"),
        "global_irf": overall.get("irf"),
        **{name: row["metrics"][name]["value"] for name in METRICS},
        "reasons": "; ".join(row.get("reasons", ())),
        "panel": row["panel"]["finding"] if row["panel"] else None,
    }
