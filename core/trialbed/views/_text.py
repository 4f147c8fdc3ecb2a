"""Unchanged texts that a page shows on request; tables as Markdown, records as CSV, and findings as JUnit's XML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.etree import ElementTree as Xml

from trialbed.views._figures import printable, printable_lines
from trialbed.views._table import Table

FENCES = re.compile("`+")
FORMULA = re.compile(r"[=@\t]|[+-](?![\d.]+$).")
"""The beginnings of formulas; a number with its sign is not a formula."""

SPECIAL = re.compile(r"([\\`*_|]|\](?=[(\[]))")


@dataclass(frozen=True)
class Excerpt:
    """An unchanged text.

    Attributes:
        label: its name.
    """

    label: str
    text: str

    @property
    def lines(self) -> str:
        """The text with its line breaks, and without other characters that control a terminal."""
        return "\n".join(map(printable, self.text.splitlines()))


@dataclass(frozen=True)
class Disclosure:
    """Excerpts below a line that says what they show; a page unfolds them at a click."""

    summary: str
    excerpts: Sequence[Excerpt]


@dataclass(frozen=True)
class Disclosures:
    """Disclosures one below the other.

    Attributes:
        title: may be empty.
        notes: what readers must know.
    """

    title: str
    entries: Sequence[Disclosure]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Folded:
    """Parts of a page that few readers ask for, below a line that names them; a page unfolds them at a click.

    Attributes:
        title: names them.
        parts: tables, plots and disclosures.
    """

    title: str
    parts: Sequence[Any]


def markdown(parts: Iterable[Table | Disclosures | Folded], *, level: int = 2) -> str:
    """Tables and excerpts as Markdown, each under its title.

    Args:
        level: of the headings.
    """
    return "\n".join(line for part in parts for line in _part(part, "#" * level)).strip() + "\n"


def escape_markdown(text: str) -> str:
    """Return a text that Markdown shows unchanged."""
    # Not every Markdown takes a backslash before the beginning of a tag.
    return SPECIAL.sub(r"\\\1", printable(text)).replace("<", "&lt;")


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV, with the keys of all as columns; None is an empty cell.

    A text that a spreadsheet would take for a formula has an apostrophe before it, as spreadsheets mark texts.
    """
    text = io.StringIO()
    columns = dict.fromkeys(name for record in records for name in record)
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in record.items()} for record in records)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable_lines(value)
    return f"'{text}" if FORMULA.match(text) else text


def _part(part: Table | Disclosures | Folded, mark: str) -> Iterator[str]:
    if isinstance(part, Folded):
        return _folded_lines(part, mark)
    return _disclosure(part, mark) if isinstance(part, Disclosures) else _lines(part, mark)


def _folded_lines(part: Folded, mark: str) -> Iterator[str]:
    yield from (f"{mark} {escape_markdown(part.title)}", "")
    for inner in part.parts:
        yield from _part(inner, f"{mark}#")


def _disclosure(part: Disclosures, mark: str) -> Iterator[str]:
    if part.title:
        yield from (f"{mark} {escape_markdown(part.title)}", "")
    for entry in part.entries:
        yield from (f"{mark}# {escape_markdown(entry.summary)}", "")
        for excerpt in entry.excerpts:
            # Longer than any such marks in the text, which therefore cannot end the block.
            fence = "`" * max(3, 1 + max(map(len, FENCES.findall(excerpt.text)), default=0))
            yield from (f"{escape_markdown(excerpt.label)}:", "", f"{fence}text", excerpt.lines, fence, "")
    yield from (f"* {escape_markdown(note)}" for note in part.notes)
    if part.notes:
        yield ""


def _lines(table: Table, mark: str) -> Iterator[str]:
    if table.title:
        yield from (f"{mark} {escape_markdown(table.title)}", "")
    if table.rows:
        yield from (_line(table.columns), _line(_sides(table), escape=False))
        yield from map(_line, table.lines)
        yield ""
    if len(table.notes) == 1:
        yield from (escape_markdown(table.notes[0]), "")
    elif table.notes:
        yield from (f"* {escape_markdown(note)}" for note in table.notes)
        yield ""
    if table.legend:
        yield from ("<details><summary>What the figures mean</summary>", "")
        yield from (f"* {escape_markdown(note)}" for note in table.legend)
        yield from ("", "</details>", "")


def _sides(table: Table) -> list[str]:
    """Return the marks that align columns of words and labels left, and numbers right."""
    return ["---" if place in table.of_text else "---:" for place in range(len(table.columns))]


def _line(cells: Iterable[str], *, escape: bool = True) -> str:
    return f"| {' | '.join(map(escape_markdown, cells) if escape else cells)} |"


TestOutcome = Literal["passed", "failure", "error", "skipped"]
"""The end of a test: ``failure`` for a finding, ``error`` for an unknown outcome, ``skipped`` for no verdict."""


@dataclass(frozen=True)
class TestCase:
    """One test.

    Attributes:
        kind: of the failure or error, in a word.
        message: the fault, in a line.
        text: more of it.
    """

    __test__ = False  # not pytest's

    classname: str
    name: str
    seconds: float = 0.0
    outcome: TestOutcome = "passed"
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass(frozen=True)
class TestSuite:
    """Tests of one subject, and its properties."""

    __test__ = False

    name: str
    cases: Sequence[TestCase]
    properties: Mapping[str, str] = field(default_factory=dict)


def junit(suites: Sequence[TestSuite], name: str = "bench") -> str:
    """Suites as XML, with their counts; characters that XML cannot hold are replaced."""
    root = Xml.Element("testsuites", {"name": name, **_counts([case for suite in suites for case in suite.cases])})
    for suite in suites:
        own = Xml.SubElement(root, "testsuite", {"name": printable(suite.name), **_counts(suite.cases)})
        if suite.properties:
            properties = Xml.SubElement(own, "properties")
            for key, value in suite.properties.items():
                Xml.SubElement(properties, "property", {"name": key, "value": printable(value)})
        own.extend(_cases(suite.cases))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _cases(cases: Sequence[TestCase]) -> Iterator[Xml.Element]:
    for case in cases:
        about = {"classname": printable(case.classname), "name": printable(case.name), "time": f"{case.seconds:.3f}"}
        shown = Xml.Element("testcase", about)
        if case.outcome != "passed":
            found = Xml.SubElement(shown, case.outcome, {"type": case.kind, "message": printable(case.message)})
            found.text = "\n".join(map(printable, case.text.splitlines())) or None
        yield shown


def _counts(cases: Sequence[TestCase]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
        "skipped": str(outcomes.count("skipped")),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }
