"""Tables as Markdown, and records as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.views._disclosures import Disclosures, Folded
from trialbed.views._figures import printable, printable_lines
from trialbed.views._table import Table

FENCES = re.compile("`+")
FORMULA = re.compile(r"[=@\t]|[+-](?![\d.]+$).")
"""The beginnings of formulas; a number with its sign is not a formula."""

SPECIAL = re.compile(r"([\\`*_|]|\](?=[(\[]))")


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
