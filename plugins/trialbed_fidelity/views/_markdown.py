"""Fidelity as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from trialbed.views import printable
from trialbed_fidelity import FidelityReport, FrameworkFidelity, SchemaFinding
from trialbed_fidelity.views._cells import DASH
from trialbed_fidelity.views._notes import heading, notes
from trialbed_fidelity.views._sections import sections

BEGIN, END = "<!-- measured: fidelity -->", "<!-- end of what was measured -->"
PLACE = re.compile(f"({re.escape(BEGIN)}\n).*?({re.escape(END)})", re.DOTALL)
SPECIAL = re.compile(r"([\\`*_<|]|\](?=\())")


def markdown(report: FidelityReport) -> str:
    """The report as a part of a page: sections of level 2."""
    return "\n".join(_lines(report)).strip() + "\n"


def placed(page: str, report: FidelityReport) -> str:
    """A page with the report in its place between the marks, or the report alone where the page has none."""
    text = markdown(report)
    if PLACE.search(page):
        return PLACE.sub(lambda place: f"{place[1]}\n{text}\n{place[2]}", page)
    return f"# Fidelity\n\n{text}"


def _lines(report: FidelityReport) -> Iterator[str]:
    yield escaped(heading(report.conditions))
    names = [framework.framework for framework in report.frameworks]
    for section in sections(report):
        yield f"\n## {escaped(section.title)}\n"
        yield from _table(("", *names), [(row.label, *row.cells) for row in section.rows])
    yield "\n## Notes\n"
    yield from (f"* {escaped(note)}" for note in notes(report))
    measured = [framework for framework in report.frameworks if framework.schemas is not None]
    if measured:
        yield "\n## Every schema\n"
        yield from _schemas(measured)


def _schemas(frameworks: Sequence[FrameworkFidelity]) -> Iterator[str]:
    named: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    for framework in frameworks:
        for finding in framework.schemas.findings if framework.schemas else ():
            named[finding.name] = finding.stresses
            found.setdefault(framework.framework, {})[finding.name] = _finding(finding)
    names = [framework.framework for framework in frameworks]
    rows = [(name, stresses, *(found[one].get(name, DASH) for one in names)) for name, stresses in named.items()]
    yield from _table(("tool", "what is hard about it", *names), rows)


def _finding(finding: SchemaFinding) -> str:
    """What happened to one schema: how many differences of each kind, and to the call of its tool."""
    counts = Counter(difference.kind for difference in finding.differences)
    shown = [f"{kind} {count}" for kind, count in counts.items()]
    shown += [effect for effect in finding.effects if effect in ("renamed", "missing", "refused")]
    if finding.call in ("changed", "not made"):
        shown.append(f"call {finding.call}")
    return ", ".join(shown) or "as given"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(escaped(title) for title in titles)} |"
    yield f"| {' | '.join('---' for _ in titles)} |"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"


def escaped(text: str) -> str:
    """A text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", printable(text))
