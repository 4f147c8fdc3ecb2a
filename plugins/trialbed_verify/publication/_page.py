"""The page: verdict, panel, findings, examples, figures, provenance, how to rerun it, and the vendor's reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from trialbed.errors import UsageError
from trialbed.views import (
    UNKNOWN,
    Disclosure,
    Disclosures,
    Excerpt,
    Folded,
    IntervalPlot,
    PlotPoint,
    Table,
    TableRow,
    html_page,
)
from trialbed_verify.comparison import VendorComparison
from trialbed_verify.findings import kind_in_words
from trialbed_verify.panel import GateResult, Mean, Panel, PanelGate, gate_meaning
from trialbed_verify.publication._commands import rerun_commands
from trialbed_verify.publication._evidence import differences, examples_of_findings
from trialbed_verify.publication._sources import Source, read_source
from trialbed_verify.vendor_rows import VendorRows
from trialbed_verify.views import VendorSuites, brief_reasons, comparison_tables, conclusion, moment, suite_tables

Part: TypeAlias = Table | IntervalPlot | Disclosures | Folded

NO_REPLY = (
    "None had been received by the day of this page. A reply is published here unchanged: bench compare … "
    "--format html --reply TEXT-FILE."
)

NO_BASELINE = "There is no baseline among these vendors, so none is judged."

NAMED = 3
"""Vendors up to which a title names each."""

LEAST = 3
"""Gates that are drawn at least."""

VERDICTS = (
    "equivalent: every gate is shown to lie within its margin. different: a gate is shown to lie beyond it. "
    "inconclusive: neither is shown; the panel says how many cases would show it."
)


@dataclass(frozen=True)
class Publication:
    """A verification to publish.

    Attributes:
        comparisons: of vendors with their baselines.
        sources: all rows on which the page is based.
        reply: the vendor's, if there is one.
        made: when the page is made.
        notes: what else a reader of the verdicts must know, such as vendors that could not be compared.
    """

    comparisons: Sequence[VendorComparison]
    sources: Sequence[Source]
    reply: str | None
    made: datetime
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        """Return the models and vendors, with the verdict if there is one alone."""
        models = " and ".join(dict.fromkeys(source.model or "a model" for source in self.sources))
        if len(self.comparisons) == 1:
            (one,) = self.comparisons
            return f"{models}: {one.vendor.vendor} compared with {one.baseline.vendor}: {one.panel.finding}"
        if len(self.sources) == 1:
            return f"{models} at {self.sources[0].name}"
        if not 1 < len(self.comparisons) <= NAMED:
            return f"{models}: {len(self.sources)} verified vendors"
        *others, last = (one.vendor.vendor for one in self.comparisons)
        baselines = dict.fromkeys(one.baseline.vendor for one in self.comparisons)
        return f"{models}: {', '.join(others)} and {last} compared with {' and '.join(baselines)}"

    def html(self) -> str:
        """One page that needs nothing else."""
        return html_page(self.title, list(self._parts()))

    def _parts(self) -> Iterator[Part]:
        if self.comparisons:
            yield Table("", notes=list(map(conclusion, different_first(self.comparisons))))
        yield self._verdicts()
        for one in different_first(self.comparisons):
            yield from comparison_parts(one)
        yield from suite_tables(
            [VendorSuites(source.name, source.is_baseline, source.suites) for source in self.sources if source.suites]
        )
        yield from self._findings()
        yield self._provenance()
        yield self._files()
        yield self._rerun()
        yield Table("The vendor's reply", notes=(self.reply or NO_REPLY).splitlines())

    def _verdicts(self) -> Table:
        rows = [
            TableRow(
                one.vendor.vendor,
                (one.baseline.vendor, one.panel.finding, one.panel.different_subjects or UNKNOWN),
                alarming=one.panel.finding == "different",
            )
            for one in different_first(self.comparisons)
        ]
        said = [f"{note[0].upper()}{note[1:]}." for note in self.notes]
        made = f"Made on {self.made:%Y-%m-%d %H:%M} UTC from the files named below, offline."
        if not rows:
            why = "None of these vendors is judged." if self.notes else NO_BASELINE
            return Table("Verdict", notes=[why, *said, made])
        return Table("Verdict", ("vendor", "baseline", "verdict", "differs in"), rows, [VERDICTS, *said, made])

    def _findings(self) -> Iterator[Part]:
        kinds = sorted({kind for source in self.sources for kind in source.found})
        if not kinds:
            yield Table(
                "Findings", notes=["No answer breaks the specification, and none shows an oddity that is looked for."]
            )
            return
        rows = [
            (kind_in_words(kind), self._severity(kind), *(str(source.counts[kind] or "") for source in self.sources))
            for kind in kinds
        ]
        columns = ("", "severity", *(source.name for source in self.sources))
        yield Table.of("Findings, in answers", columns, rows)
        shown = examples_of_findings(self.sources)
        if shown is not None:
            yield shown

    def _severity(self, kind: str) -> str:
        return next(source.found[kind].severity for source in self.sources if kind in source.found)

    def _provenance(self) -> Table:
        rows = {name: [_text(value(source)) for source in self.sources] for name, value in PROVENANCE.items()}
        known = {name: cells for name, cells in rows.items() if any(cell != UNKNOWN for cell in cells)}
        alike = {name: cells[0] for name, cells in known.items() if len(cells) > 1 and len({*cells}) == 1}
        differing = [(name, *cells) for name, cells in known.items() if name not in alike]
        notes = [f"The same for all: {'; '.join(f'{name} {text}' for name, text in alike.items())}."] if alike else []
        return Table.of("Provenance", ("", *(source.name for source in self.sources)), differing, notes)

    def _files(self) -> Table:
        rows = [(source.origin.file_name, str(source.rows), *_size_and_digest(source)) for source in self.sources]
        notes = ["A file with this SHA-256 holds the answers on which this page is based."]
        return Table.of("Files", ("file", "rows", "bytes", "SHA-256"), rows, notes)

    def _rerun(self) -> Disclosures:
        commands = "\n".join(rerun_commands(self.sources, self.comparisons))
        notes = ["Keys are read from the environment or .env. A model that samples answers differently each time."]
        return Disclosures("How to rerun it", [Disclosure("Commands", [Excerpt("In a shell", commands)])], notes)


def comparison_parts(found: VendorComparison) -> Iterator[Part]:
    """Yield why a vendor is judged as it is: in words, as a plot and with answers; and below a line all its figures."""
    vendor = found.vendor.vendor
    panel, *others = comparison_tables([found], gate_meaning)
    gates = [one for one in found.panel.gates if one.excess]
    shown = _telling(gates)
    within = ", ".join(one.gate.meaning for one in gates if one not in shown)
    rest = [f"Shown to lie within the margin, and not drawn: {within}."] if within else []
    yield Table(panel.title, notes=[*_off(found.panel), *brief_reasons(found.panel), *rest])
    points = [_point(one.gate, one.excess) for one in shown if one.excess]
    if points:
        title = f"How far {vendor} is beyond the baseline's own spread, in margins: -1 to 1 is allowed"
        yield IntervalPlot(title, points, zero=0.0, marks=(-1.0, 1.0))
    if (examples := differences(found)) is not None:
        yield examples
    table = replace(panel, title="Gates", notes=panel.notes[-1:])
    yield Folded(f"All figures of {vendor}: gates, decisions, rates, tokens, times and tests", [table, *others])


def different_first(comparisons: Sequence[VendorComparison]) -> list[VendorComparison]:
    """Return comparisons, those that show a difference before the others."""
    return sorted(comparisons, key=lambda one: one.panel.finding != "different")


def _off(panel: Panel) -> Iterator[str]:
    """Yield how far which subjects of a vendor that differs are off, and which are not settled, the farthest first."""
    if panel.finding != "different":
        return
    farthest = sorted(panel.gates, key=_reach, reverse=True)
    beyond = ", ".join(_off_by(one) for one in farthest if one.finding == "different")
    yield f"Shown to lie beyond the margin (figures in margins): {beyond}."
    if unsettled := ", ".join(one.gate.meaning for one in farthest if one.finding == "inconclusive"):
        yield f"Not settled, the farthest first: {unsettled}."


def _off_by(one: GateResult) -> str:
    gate, excess = one.gate, one.excess
    if excess is None:
        return gate.meaning
    if one.finding == "different" and not excess.is_beyond(gate.margin, directed=gate.is_directed):
        return f"{gate.meaning} (by their distribution)"
    return f"{gate.meaning} {_in_margins(excess, gate.margin)}"


def page(
    comparisons: Sequence[VendorComparison],
    rows: Iterable[VendorRows],
    reply: Path | None = None,
    notes: Sequence[str] = (),
) -> Publication:
    """Make the page of vendors.

    Args:
        rows: of all vendors, the baseline's first.
        reply: a file with the vendor's reply.
        notes: what else its readers must know, such as vendors that could not be compared.

    Raises:
        UsageError: the reply cannot be read.
        DataError: rows cannot be read.
    """
    sources = [read_source(own) for own in {str(own): own for own in rows}.values()]
    return Publication(comparisons, sources, _read(reply), datetime.now(UTC), notes)


def _read(reply: Path | None) -> str | None:
    if reply is None:
        return None
    try:
        return reply.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--reply {reply}: cannot be read as text: {error}") from error


def _telling(gates: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates that are not shown to lie within the margin, and as many others as make a plot, in their order.

    Of the others, those that come nearest to the margin.
    """
    unsettled = sum(one.finding != "equivalent" for one in gates)
    chosen = sorted(gates, key=lambda one: (one.finding == "equivalent", -_reach(one)))[: max(LEAST, unsettled)]
    return [one for one in gates if one in chosen]


def _reach(one: GateResult) -> float:
    """Return how far the interval of a gate goes, in margins."""
    return max(abs(one.excess.low), abs(one.excess.high)) / one.gate.margin if one.excess else 0.0


def _point(gate: PanelGate, excess: Mean) -> PlotPoint:
    value, low, high = (end / gate.margin for end in (excess.value, excess.low, excess.high))
    return PlotPoint(gate.meaning, value, low, high, _in_margins(excess, gate.margin))


def _in_margins(found: Mean, margin: float) -> str:
    value, low, high = (end / margin for end in (found.value, found.low, found.high))
    return f"{value:+.2f} [{low:.2f}, {high:.2f}]"


def _size_and_digest(source: Source) -> tuple[str, str]:
    digest, size = source.origin.digest()
    return str(size), digest


def _from_configuration(source: Source, key: str) -> Any:
    return None if source.summary is None else source.summary["provenance"]["configuration"].get(key)


def _from_provenance(source: Source, key: str) -> Any:
    return None if source.summary is None else source.summary["provenance"].get(key)


def _text(value: Any) -> str:
    return UNKNOWN if value in (None, "", {}) else str(value)


PROVENANCE: Mapping[str, Callable[[Source], Any]] = {
    "model": lambda source: source.model,
    "model named by the answers": lambda source: ", ".join(
        f"{name} ({count})" for name, count in source.served.items()
    ),
    "model id": lambda source: _from_configuration(source, "model_id"),
    "endpoint": lambda source: _from_configuration(source, "base_url"),
    "provider": lambda source: _from_configuration(source, "provider"),
    "first answer": lambda source: moment(source.first_at),
    "last answer": lambda source: moment(source.last_at),
    "test set": lambda source: _from_provenance(source, "test_set"),
    "test set, SHA-256": lambda source: _from_provenance(source, "test_set_digest"),
    "cases": lambda source: _from_provenance(source, "test_set_cases"),
    "trials": lambda source: _from_provenance(source, "trials"),
    "temperature": lambda source: _from_configuration(source, "temperature"),
    "extra body": lambda source: _from_configuration(source, "extra_body"),
    "concurrent requests": lambda source: _from_provenance(source, "request_concurrency"),
    "retries": lambda source: _from_provenance(source, "retries"),
    "seconds for an attempt": lambda source: _from_provenance(source, "timeout_s"),
    "trialbed": lambda source: _from_provenance(source, "trialbed_version"),
    "Python": lambda source: _from_provenance(source, "python"),
    "platform": lambda source: _from_provenance(source, "platform"),
}
"""Rows of the table of provenance, and where each comes from."""
