"""Tables of the comparisons and ranks of one verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trialbed.views import Table, estimate
from trialbed_verify.views._ranking import ranking_tables


def verified_tables(document: Mapping[str, Any]) -> list[Table]:
    """A table of comparisons for each model, and those of the ranking."""
    ranking = document["ranking"]
    return [*map(_table, document["models"]), *(ranking_tables(ranking, reasons=False) if ranking else ())]


def _table(found: Mapping[str, Any]) -> Table:
    title = (
        f"{found['model']} compared with {found['baseline']}"
        if found["baseline"]
        else f"{found['model']}: not compared"
    )
    columns = ("vendor", "verdict", "by F1 alone", "F1, as delivered", "F1, where both answered", "cases")
    return Table.of(title, columns, map(_row, found["comparisons"]), _notes(found))


def _row(document: Mapping[str, Any]) -> tuple[str, ...]:
    similarity = document["similarity"]
    return (
        document["vendor"]["vendor"],
        document["panel"]["finding"],
        document["verdict"]["finding"],
        estimate(similarity["delivered"]["f1"]),
        estimate(similarity["answered"]["f1"]),
        str(document["pairing"]["cases"]),
    )


def _notes(found: Mapping[str, Any]) -> Iterator[str]:
    yield from _reasons(found["comparisons"], "panel", "")
    yield from _reasons(found["comparisons"], "verdict", " by F1 alone")
    for one in found["comparisons"]:
        vendor, pairing = one["vendor"]["vendor"], one["pairing"]
        left_out = pairing["only_baseline"] + pairing["only_vendor"]
        if left_out:
            yield f"{vendor}: {left_out} rows are left out because only one file has them."
        yield from (
            f"{vendor}: settings of {count} requests differ: {text}." for text, count in pairing["settings"].items()
        )
    yield from (f"{note}." for note in found["notes"])


def _reasons(comparisons: Iterable[Mapping[str, Any]], verdict: str, by: str) -> Iterator[str]:
    """Each reason of a verdict once, with the vendors that it is true of."""
    vendors: dict[str, list[str]] = {}
    for one in comparisons:
        vendors.setdefault(one[verdict]["reason"], []).append(one["vendor"]["vendor"])
    for reason, names in vendors.items():
        yield f"{', '.join(names)}{by and ','}{by}: {reason}."
