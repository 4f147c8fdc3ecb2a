"""A fidelity report as tables, for a terminal, and as a part of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TextIO

from trialbed import views
from trialbed.views import UNKNOWN, Folded, Table, TableRow
from trialbed_adapter_lab.fidelity import Conditions, FidelityReport, FrameworkFidelity, SchemaFinding
from trialbed_adapter_lab.fidelity.views._behaviour import behaviour_rows
from trialbed_adapter_lab.fidelity.views._cells import line, tally
from trialbed_adapter_lab.fidelity.views._conclusion import conclusions
from trialbed_adapter_lab.fidelity.views._errors import error_rows, error_tables
from trialbed_adapter_lab.fidelity.views._invariants import invariant_rows
from trialbed_adapter_lab.fidelity.views._notes import heading, notes
from trialbed_adapter_lab.fidelity.views._summary import summaries, summary
from trialbed_adapter_lab.fidelity.views._wire import prompt_rows, schema_rows

LOCK = 12
"""Digits shown of a lock's digest."""


def write_table(report: FidelityReport, stream: TextIO) -> None:
    """Write a report for a terminal."""
    views.print_tables(_report_tables(report), stream)


def markdown(report: FidelityReport) -> str:
    """Return the report as a part of a page: sections of level 2."""
    return views.markdown([*_report_tables(report), *_long_tables(report)])


def _report_tables(report: FidelityReport) -> list[Table]:
    """Return the conditions, every figure that was asked for, and the notes.

    Frameworks are columns; the first one, the reference, is the baseline and is repeated in every block. Several
    profiles have tables of their own.
    """
    profiles = by_profile(report.frameworks)
    figures = [table for suffix, found in profiles for table in _figures(found, report.conditions, suffix)]
    return [*_first(report), *figures, Table("Notes", notes=list(notes(report)))]


def page_parts(report: FidelityReport) -> list[Table | Folded]:
    """Return all that was measured for a page: what it comes to, the summary, and below it what readers unfold."""
    brief = summaries(report.frameworks, report.conditions.parts)
    about = Folded("Notes", [Table("", notes=[heading(report.conditions), *notes(report)])])
    parts: list[Table | Folded] = [Table("", notes=_conclusions(report)), *brief, about]
    parts = [part for part in parts if isinstance(part, Folded) or part.notes or part.rows]
    for suffix, found in by_profile(report.frameworks):
        parts.append(Folded(f"Every figure{suffix}", list(_figures(found, report.conditions, suffix))))
        if long := list(_long(found, suffix)):
            parts.append(Folded(f"Schemas and errors one by one{suffix}", long))
    return parts


def _long_tables(report: FidelityReport) -> list[Table]:
    """Return the findings on every single schema, and the texts of errors, as far as they were asked for.

    They are too long for a terminal.
    """
    return [table for suffix, found in by_profile(report.frameworks) for table in _long(found, suffix)]


def by_profile(found: Sequence[FrameworkFidelity]) -> list[tuple[str, list[FrameworkFidelity]]]:
    """Return ``(end of titles, frameworks)`` of each profile, with those that have none; all, if there is but one."""
    profiles = list(dict.fromkeys(one.profile for one in found if one.profile is not None))
    if len(profiles) < 2:
        return [("", list(found))]
    return [(f", {profile}", [one for one in found if one.profile in (None, profile)]) for profile in profiles]


def _first(report: FidelityReport) -> list[Table]:
    brief = summary(report.frameworks, report.conditions.parts)
    said = Table("", notes=_conclusions(report))
    return [
        *([said] if said.notes else []),
        Table("", notes=[heading(report.conditions)]),
        *([brief] if brief.rows else []),
    ]


def _conclusions(report: FidelityReport) -> list[str]:
    profiles = by_profile(report.frameworks)
    return [line for suffix, found in profiles for line in conclusions(found[1:], suffix.removeprefix(", "))]


def _figures(found: Sequence[FrameworkFidelity], conditions: Conditions, suffix: str) -> Iterator[Table]:
    for title, rows in _sections(found, conditions):
        yield Table(f"{title}{suffix}", ("", *(one.framework for one in found)), tuple(rows), pinned=1)


def _long(found: Sequence[FrameworkFidelity], suffix: str) -> Iterator[Table]:
    if any(one.errors is not None for one in found):
        yield from error_tables(found, suffix)
    measured = [framework for framework in found if framework.schemas is not None]
    if measured:
        yield _schemas(measured, suffix)


def _sections(found: Sequence[FrameworkFidelity], conditions: Conditions) -> Iterator[tuple[str, Iterator[TableRow]]]:
    yield "Measured", _about(found)
    if "schemas" in conditions.parts:
        yield "Tool schemas", schema_rows(found)
    if "prompt" in conditions.parts:
        yield f"Prompt, with {conditions.tools} tools", prompt_rows(found)
    if "behaviour" in conditions.parts:
        yield "Behaviour", behaviour_rows(found)
    if "errors" in conditions.parts:
        yield "What the user sees", error_rows(found)
    if any(one.invariants is not None for one in found):
        yield "Invariants", invariant_rows(found)


def _about(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    yield line("version", found, lambda one: one.version or UNKNOWN)
    yield line("adapter", found, lambda one: one.adapter or UNKNOWN)
    yield line("Python", found, lambda one: one.python or UNKNOWN)
    yield line("environment", found, _environment)
    if any(one.missing for one in found):
        yield line("could not be measured", found, lambda one: tally(_missing(one)), alarming=True)


def _environment(one: FrameworkFidelity) -> str:
    if one.version is None:
        return UNKNOWN
    return f"lock {one.lock_digest[:LOCK]}" if one.lock_digest else "Trialbed's own"


def _missing(one: FrameworkFidelity) -> list[str]:
    return [missing.part or "everything" for missing in one.missing]


def _schemas(frameworks: Sequence[FrameworkFidelity], suffix: str) -> Table:
    named: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    for framework in frameworks:
        for finding in framework.schemas.findings if framework.schemas else ():
            named[finding.name] = finding.stresses
            found.setdefault(framework.framework, {})[finding.name] = _finding(finding)
    names = [framework.framework for framework in frameworks]
    rows = [(name, stresses, *(found[one].get(name, UNKNOWN) for one in names)) for name, stresses in named.items()]
    return Table.of(f"Every schema{suffix}", ("tool", "what is hard about it", *names), rows)


def _finding(finding: SchemaFinding) -> str:
    """Return the changes to one schema: the number of differences of each kind, and the fate of its tool's call."""
    counts = Counter(difference.kind for difference in finding.differences)
    shown = [f"{kind} {count}" for kind, count in counts.items()]
    shown += [effect for effect in finding.effects if effect in ("renamed", "missing", "refused")]
    if finding.call in ("changed", "not made", "impossible"):
        shown.append(f"call {finding.call}")
    return ", ".join(shown) or "as given"
