"""The panel's verdict on a vendor as a table of text and as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.views import UNKNOWN, Table, TableRow, number

Document = Mapping[str, Any]

COLUMNS = ("gate", "finding", "baseline", "vendor", "excess", "margin", "distance", "margin", "p (Holm)")

DIGITS = 3


def panel_table(panel: Document, vendor: str, baseline: str) -> Table:
    """The verdict and every gate that applies, with an example of each difference in the notes."""
    shown = [gate for gate in panel["gates"] if gate["finding"] != "not applicable"]
    rows = [TableRow(gate["gate"], tuple(_cells(gate)), alarming=gate["finding"] == "different") for gate in shown]
    title = f"{vendor} compared with {baseline}: {panel['finding']}"
    notes = list(_notes(panel, vendor, baseline))
    brief = [TableRow(row.label, (row.cells[0], *row.cells[3:5]), row.alarming) for row in rows]
    narrow = Table(title, ["gate", "finding", "excess", "margin"], brief, notes)
    return Table(title, list(COLUMNS), rows, notes, narrow=narrow)


def panel_records(panel: Document) -> Iterator[dict[str, Any]]:
    """One record per gate and figure."""
    for gate in panel["gates"]:
        for figure in ("excess", "distance"):
            if gate[figure] is not None:
                yield {"side": gate["finding"], "figure": f"panel_{gate['gate']}_{figure}", **gate[figure]}


def _cells(gate: Document) -> Iterator[str]:
    yield gate["finding"]
    yield from (number(gate[side], DIGITS) for side in ("baseline", "vendor"))
    for figure in ("excess", "distance"):
        yield _interval(gate[figure])
        yield UNKNOWN if gate[f"{figure}_margin"] is None else f"{gate[f'{figure}_margin']:g}"
    yield f"{gate['p_holm']:.3f}"


def _interval(found: Document | None) -> str:
    if found is None:
        return UNKNOWN
    return f"{found['value']:+.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def _notes(panel: Document, vendor: str, baseline: str) -> Iterator[str]:
    yield f"{panel['reason'][0].upper()}{panel['reason'][1:]}."
    yield from (f"{remark[0].upper()}{remark[1:]}." for remark in panel["remarks"])
    for gate in panel["gates"]:
        if gate["finding"] == "different":
            yield f"{gate['gate']}: {gate['meaning']} differ; {gate['reason']}."
            yield from _example(gate["example"], vendor, baseline)
    counts = panel["trials"]
    whole = UNKNOWN if panel["p_whole"] is None else f"{panel['p_whole']:.3f}"
    yield (
        f"{panel['cases']} cases with {counts['baseline']:.3g} and {counts['vendor']:.3g} trials that count; all gates "
        f"together: p = {whole} ({panel['permutations']} permutations of trials within cases)."
    )
    yield (
        "baseline: how far its trials are from each other; vendor: how far the vendor's are from them; for faults, the "
        "share of each. excess: the second less the first; distance: between both distributions. Both are 0 for an "
        "identical vendor, whatever the model's own spread."
    )


def _example(example: Document | None, vendor: str, baseline: str) -> Iterator[str]:
    if example is None:
        return
    where = f"line {example['line']}" if example["line"] else "for example"
    yield f"  {where}, {baseline}: {example['baseline']}"
    yield f"  {where}, {vendor}: {example['vendor']}"
