"""Lines of foreign text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trialbed.views import printable

INDENT = "  "

LONGEST = 400
"""Characters of a text that are shown unless all of it is asked for."""

MOST_LINES = 8
"""Lines of it."""


@dataclass(frozen=True)
class Line:
    """A text, which may itself have several lines, and how far it is indented."""

    text: str
    depth: int = 0


def printed_lines(lines: Iterable[Line], *, full: bool) -> Iterator[str]:
    """Yield the lines as they are printed: harmless, indented, and cut where they are long unless all is asked for.

    Whatever an agent, a model or an Api says is shown, and none of it can move the cursor, change colours or the
    title, or pass for another line's beginning.
    """
    for line in lines:
        text = line.text if full else _cut(line.text)
        first, *rest = (printable(part.expandtabs(4)) for part in text.split("\n"))
        yield f"{INDENT * line.depth}{first}"
        yield from (f"{INDENT * (line.depth + 1)}{part}" for part in rest)


def is_cut(lines: Iterable[Line]) -> bool:
    """Return whether any of the lines is shown in part only."""
    return any(_cut(line.text) != line.text for line in lines)


def _cut(text: str) -> str:
    shown = "\n".join(text[:LONGEST].split("\n")[:MOST_LINES])
    left = len(text) - len(shown)
    return text if not left else f"{shown} … [{left:,} more characters]"
