"""Probe several adapters, and show the results as tables for a terminal or Markdown."""

from __future__ import annotations

import asyncio
import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from trialbed.errors import TrialbedError
from trialbed.records import Environment, Json, Record, framework_driver, framework_profile
from trialbed.texts import group_by_key, number_of, one_line
from trialbed.views import UNKNOWN, Table, TableRow, printable
from trialbed_adapter_lab.kit_process import run_kit
from trialbed_adapter_lab.probe import LEVELS, PROBLEMS, CheckFinding, ConformanceReport
from trialbed_adapter_lab.probes import PROBES

REFERENCE = "reference"

AT_ONCE = 2
"""Adapters that are measured at the same time; each mostly waits for models and tools that are slow on purpose."""

INTERRUPTED = "interrupted before it was measured"

FIRST = {name: theme for theme, name in {probe.theme: probe.name for probe in reversed(PROBES)}.items()}
"""The first probe of each theme -> the theme."""


class Conditions(Record):
    """The time, the machine and the settings of a measurement."""

    measured_at: datetime
    seconds: float
    trialbed: str
    python: str
    system: str
    cores: int
    themes: tuple[str, ...]


class MeasuredAdapter(Record):
    """The findings on one adapter.

    Attributes:
        label: its name, with the requested profile and release.
        lock_digest: of its environment; empty for Trialbed's own environment.
        report: its messages are cut to one line; None if it could not be measured.
        reason: why it could not be measured.
    """

    label: str
    lock_digest: str = ""
    report: ConformanceReport | None = None
    reason: str = ""

    @property
    def profile(self) -> str | None:
        """Its profile; None for an adapter without profiles."""
        return framework_profile(self.label)

    @property
    def findings(self) -> dict[str, CheckFinding]:
        """The findings by probe."""
        return {finding.check: finding for finding in self.report.findings} if self.report else {}


class FidelityReport(Record):
    """The findings on several adapters. The reference comes first."""

    conditions: Conditions
    adapters: tuple[MeasuredAdapter, ...]

    @classmethod
    def of(cls, adapters: Iterable[MeasuredAdapter], themes: Collection[str], began: datetime) -> FidelityReport:
        """Return the report on a measurement that ends now."""
        conditions = Conditions(
            measured_at=began,
            seconds=round((datetime.now(UTC) - began).total_seconds(), 1),
            trialbed=version("trialbed"),
            python=platform.python_version(),
            system=platform.platform(),
            cores=os.cpu_count() or 1,
            themes=tuple(themes),
        )
        return cls(conditions=conditions, adapters=tuple(adapters)).on_themes(themes)

    def on_themes(self, themes: Collection[str]) -> FidelityReport:
        """Return the report on these of its themes alone, without lists, which are whole requests of a trial."""
        document = self.model_dump()
        document["conditions"]["themes"] = tuple(themes)
        for report in filter(None, (one["report"] for one in document["adapters"])):
            found = (one for one in report["findings"] if one["theme"] in ("", *themes))
            report["findings"] = [one for one in found if not isinstance(one["seen"], list)]
        return FidelityReport.model_validate(document)

    @property
    def complete(self) -> bool:
        """Every adapter was measured, and every probe was completed."""
        reports = [one.report for one in self.adapters]
        return all(report and all(one.outcome != "error" for one in report.findings) for report in reports)

    @property
    def empty(self) -> bool:
        """No adapter was measured but the reference."""
        return all(one.report is None for one in self.adapters[1:] or self.adapters)


async def measure(
    environments: Mapping[str, Environment | None],
    themes: Collection[str],
    found: dict[str, MeasuredAdapter],
    show: Callable[[str], object],
) -> None:
    """Run all probes of some themes on adapters; a failure of one is noted, and the others go on.

    Args:
        environments: label -> its own environment; None if it is installed here.
        found: gets the findings by label, in the order of the labels; if this is cancelled, it has those until then.
        show: called with a text at every step.
    """
    places = asyncio.Semaphore(AT_ONCE)
    options = ["--level", "info", *(word for theme in themes for word in ("--theme", theme))]

    async def measure_one(label: str, environment: Environment | None) -> None:
        def show_theme(line: str) -> None:
            if theme := FIRST.get(line.split()[1]):
                show(f"{label}: {theme}")

        async with places:
            show(f"{label}: loading")
            try:
                report = await run_kit(framework_driver(label), environment, options, show_theme)
            except (TrialbedError, OSError) as error:
                found[label] = MeasuredAdapter(label=label, reason=str(error))
                show(f"{label}: could not be measured")
                return
            digest = environment.lock_digest if environment else ""
            findings = tuple(finding.without_traces() for finding in report.findings)
            short = report.model_copy(update={"findings": findings})
            found[label] = MeasuredAdapter(label=label, lock_digest=digest, report=short)
            show(f"{label}: measured, {report.badge}")

    found.update({label: MeasuredAdapter(label=label, reason=INTERRUPTED) for label in environments})
    async with asyncio.TaskGroup() as group:
        for label, environment in environments.items():
            group.create_task(measure_one(label, environment))


LONGEST, LONGEST_NOTE = 60, 300
"""Characters of a cell and of a note."""

MOST_ROWS = 20
"""Rows of one probe in the tables of several themes; if it has more, they are only counted."""

HEADLINES = ("tools lost", "schemas changed", "calls as sent", "bytes", "requests after 429", "calls at once")
"""Figures in the summary, by the names that probes give them."""

NOTED = ("declared", "outdated", "error")
"""Outcomes with a visible message."""


def report_tables(report: FidelityReport, *, whole: bool = True) -> list[Table]:
    """Return the summary, a table for each theme and profile, and the notes.

    Rows without differences from the plain loop are only counted. So are the rows of a very long probe, unless the
    report has one theme.

    Args:
        whole: return cells that are too long for a terminal.
    """
    tables, equal, themes = [], [], report.conditions.themes
    for profile, adapters in _by_profile(report):
        folded, reference, about = [], adapters[0].label, profile and f", {profile}"
        for theme in themes:
            rows = list(_rows(adapters, theme, 2 * LONGEST if whole else LONGEST))
            differ = [row for row in rows if len({*row.cells}) > 1 or len(adapters) == 1]
            sizes = Counter(_probe(row) for row in differ)
            many = {name: size for name, size in sizes.items() if size > MOST_ROWS and len(themes) > 1}
            count = len(rows) - len(differ)
            notes = [f"{number_of(count, 'more row')}: same as {reference}."] if count else []
            notes += [f"{name}: {size} more rows, shown with --part {theme}." for name, size in many.items()]
            if differ:
                shown = [row for row in differ if _probe(row) not in many]
                columns = ("probe", *(one.label for one in adapters))
                tables.append(Table(f"{theme.capitalize()}{about}", columns, shown, notes, pinned=1))
            elif count:
                folded.append(f"{theme} ({count})")
        if folded:
            equal.append(f"Same as {reference} in all rows{about}: {', '.join(folded)}.")
    return [*_head(report, equal), *tables, _notes(report)]


def _probe(row: TableRow) -> str:
    return row.label.partition(": ")[0]


def cell(finding: CheckFinding | None, key: str = "") -> str:
    """Return the figure of a finding, or the observed behaviour of a failure."""
    if finding is None:
        return UNKNOWN
    if finding.outcome in ("skipped", "error"):
        return "not tried" if finding.outcome == "skipped" else "error"
    seen = finding.seen
    if isinstance(seen, dict):
        text = _text(seen[key]) if key in seen else UNKNOWN
    else:
        text = "✓" if finding.outcome == "outdated" or seen is None else _text(seen)
    told = {"failed": f"✗ {text}", "declared": f"{text} (declared)", "outdated": f"{text} (outdated)"}
    return told.get(finding.outcome, text)


def _text(seen: Json) -> str:
    if isinstance(seen, bool):
        return "yes" if seen else "no"
    if isinstance(seen, int | float):
        return f"{seen:,}"
    return seen if isinstance(seen, str) else json.dumps(seen, ensure_ascii=False)


def _head(report: FidelityReport, notes: Sequence[str]) -> list[Table]:
    about = report.conditions
    heading = (
        f"Measured {about.measured_at:%Y-%m-%d %H:%M} UTC in {about.seconds:.0f} s, with Trialbed {about.trialbed} "
        f"on Python {about.python}; {about.system}, {about.cores} cores."
    )
    rows = []
    for one in report.adapters:
        place, found = f"lock {one.lock_digest[:12]}" if one.lock_digest else "Trialbed's own", one.report
        about_it = (found.version, f"{found.adapter} {found.adapter_version}") if found else (UNKNOWN, UNKNOWN)
        rows.append((one.label, *about_it, place))
    versions = Table.of("Versions", ("adapter", "framework", "package", "environment"), rows)
    return [Table("", notes=[heading]), _summary(report, notes), versions]


def _summary(report: FidelityReport, notes: Sequence[str]) -> Table:
    """Return the number of checks that each adapter passes, and the most important figures."""
    found = {name: [_headline(one, name) for one in report.adapters] for name in HEADLINES}
    figures = {name: cells for name, cells in found.items() if {*cells} != {UNKNOWN}}
    levels = [level for level in LEVELS if any(one.report and one.report.count(level) for one in report.adapters)]
    rows = []
    for place, one in enumerate(report.adapters):
        passed = [one.report.tally(level) if one.report else UNKNOWN for level in levels]
        cells = (*passed, *(column[place] for column in figures.values()))
        rows.append(TableRow(one.label, cells, alarming=one.report is None or not one.report.ok))
    return Table("Checks passed, and first figures", ("adapter", *levels, *figures), rows, notes)


def _headline(adapter: MeasuredAdapter, name: str) -> str:
    found = [one for one in adapter.findings.values() if isinstance(one.seen, dict) and name in one.seen]
    return cell(found[0], name) if found else UNKNOWN


def _by_profile(report: FidelityReport) -> list[tuple[str, list[MeasuredAdapter]]]:
    """Group measured adapters by profile, with unprofiled adapters in every group; fewer than two profiles form one."""
    measured = [one for one in report.adapters if one.report is not None]
    profiles = list(dict.fromkeys(one.profile for one in measured if one.profile is not None))
    if len(profiles) < 2:
        return [("", measured)] if measured else []
    return [(profile, [one for one in measured if one.profile in (None, profile)]) for profile in profiles]


def _rows(adapters: Sequence[MeasuredAdapter], theme: str, longest: int) -> Iterator[TableRow]:
    """Yield a row for each probe of a theme, or for each figure of a probe that has several."""
    found = [one.findings for one in adapters]
    for name in dict.fromkeys(one.check for own in found for one in own.values() if one.theme == theme):
        findings = [own.get(name) for own in found]
        keys = dict.fromkeys(key for one in findings if one and isinstance(one.seen, dict) for key in one.seen)
        alarming = any(one and one.outcome in PROBLEMS for one in findings)
        for place, key in enumerate(keys or ("",)):
            # The reason for missing figures is in the first row of the probe.
            shown = [one if one and (not place or isinstance(one.seen, dict)) else None for one in findings]
            cells = tuple(printable(one_line(cell(one, key), longest)) for one in shown)
            yield TableRow(f"{name}: {key}" if key else name, cells, alarming)


def _notes(report: FidelityReport) -> Table:
    notes = [
        "✓ is a check that the adapter passes. If it does not, the cell has what was seen instead, with ✗ if that is a "
        f"failure. {UNKNOWN} means not observed."
    ]
    for one in report.adapters:
        if one.report is None:
            notes.append(f"{one.label} could not be measured: {one_line(one.reason, LONGEST_NOTE)}")
        told = [(found.message, found.check) for found in one.findings.values() if found.outcome in NOTED]
        for message, names in group_by_key(told).items():
            notes.append(f"{one.label}, {', '.join(names)}: {one_line(message, LONGEST_NOTE)}")
    return Table("Notes", notes=notes)
