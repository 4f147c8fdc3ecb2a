"""Unchanged texts, such as answers of vendors, which a page shows on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.views._figures import printable


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
