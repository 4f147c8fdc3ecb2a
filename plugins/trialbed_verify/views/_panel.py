"""The panel's verdict on a vendor as a table of text and as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trialbed.views import UNKNOWN, Table, TableRow, number
from trialbed_verify.panel import GateExample, GateResult, Mean, Panel, PanelGate, reason_in_words

COLUMNS = ("gate", "finding", "baseline", "vendor", "excess", "margin", "distance", "margin", "p (Holm)")

DIGITS = 3

FLOOR = 1.5
"""Deals as unusual as the answers, with the answers themselves, below which there is none but them."""


def panel_table(panel: Panel, vendor: str, baseline: str, named: Callable[[PanelGate], str] | None = None) -> Table:
    """Return the verdict and every gate that applies, with an example of each difference in the notes.

    Gates whose figures are all the same share a row.

    Args:
        named: names a gate; None for the names that options take.
    """
    rows = _merge_alike(
        TableRow(
            named(one.gate) if named else one.gate.label,
            tuple(_cells(one, panel.deals)),
            alarming=one.finding == "different",
        )
        for one in panel.applicable
    )
    title = f"{vendor} compared with {baseline}: {panel.finding}"
    notes = list(_notes(panel, vendor, baseline))
    brief = [TableRow(row.label, (row.cells[0], *row.cells[3:5]), row.alarming) for row in rows]
    narrow = Table(title, ["gate", "finding", "excess", "margin"], brief, notes, legend=[LEGEND])
    return Table(title, list(COLUMNS), rows, notes, narrow=narrow, legend=[LEGEND])


def _merge_alike(rows: Iterable[TableRow]) -> list[TableRow]:
    """Return one row for all gates with the same figures, as most have where nothing differs."""
    labels: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for row in rows:
        labels.setdefault((row.cells, row.alarming), []).append(row.label)
    return [TableRow(", ".join(names), cells, alarming) for (cells, alarming), names in labels.items()]


def panel_records(panel: Panel) -> Iterator[dict[str, Any]]:
    """Yield one record per gate and figure."""
    for one in panel.gates:
        for name, mean in (("excess", one.excess), ("distance", one.distance)):
            if mean is not None:
                yield {"side": one.finding, "figure": f"panel_{one.gate.name}_{name}", **mean.as_json()}


def _cells(one: GateResult, deals: int) -> Iterator[str]:
    yield one.finding
    yield number(one.baseline, DIGITS)
    yield number(one.vendor, DIGITS)
    for mean, margin in ((one.excess, one.gate.margin), (one.distance, one.gate.distance_margin)):
        yield _interval(mean)
        yield UNKNOWN if margin is None else f"{margin:g}"
    yield _p_value(one.p_holm, one.p, deals)


def _p_value(value: float, single: float, deals: int) -> str:
    """Return a p-value; as the most that it can be where no deal was as unusual as the answers."""
    least = single * (deals + 1) < FLOOR
    return f"≤ {value:.2g}" if least else f"{value:.3f}"


def _interval(mean: Mean | None) -> str:
    return UNKNOWN if mean is None else f"{mean.value:+.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def _panel_reasons(panel: Panel) -> Iterator[str]:
    """Yield the reasons of the verdict, and of each gate that differs."""
    yield from _verdict_reasons(panel)
    yield from (_gate_reason(one) for one in panel.gates if one.finding == "different")


def brief_reasons(panel: Panel) -> Iterator[str]:
    """Yield in words the reasons of the verdict that its conclusion does not give."""
    rest = reason_in_words(panel).partition("; ")[2] if panel.needed else ""
    if rest and not rest.startswith("about "):
        yield _as_sentence(rest)
    yield from map(_as_sentence, panel.remarks)


def _verdict_reasons(panel: Panel) -> Iterator[str]:
    yield from map(_as_sentence, (panel.reason, *panel.remarks))


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _gate_reason(one: GateResult) -> str:
    return f"{one.gate.label}: {one.gate.meaning} differ; {one.reason}."


def _notes(panel: Panel, vendor: str, baseline: str) -> Iterator[str]:
    examples = {_gate_reason(one): one.example for one in panel.gates}
    for text in _panel_reasons(panel):
        yield text
        yield from _example(examples.get(text), vendor, baseline)
    ours, theirs = panel.trials
    whole = UNKNOWN if panel.whole is None else f"{panel.whole:.2g}"
    yield (
        f"{panel.cases} cases with {ours:.3g} and {theirs:.3g} trials that count; all gates "
        f"together: p = {whole} (up to {panel.deals:,} permutations of trials within cases)."
    )


LEGEND = (
    "baseline: how far its trials are from each other; vendor: how far the vendor's are from them; for faults, the "
    "share of each. excess: the second less the first; distance: between both distributions. Both are 0 for an "
    "identical vendor, whatever the model's own spread. [low, high]: one-sided 95 % bounds, which decide. breaking: "
    "answers that would break a caller, and that the other trials of the baseline never give. At "
    "most so many of 1,000 answers break a caller: the upper bound of its excess, and beyond it those that are too "
    "rare to have been seen."
)


def _example(example: GateExample | None, vendor: str, baseline: str) -> Iterator[str]:
    if example is None:
        return
    where = f"line {example.line}" if example.line else "for example"
    yield f"  {where}, {baseline}: {example.baseline}"
    yield f"  {where}, {vendor}: {example.vendor}"
