"""The style of figures: legible in print, and told apart without colour."""

from __future__ import annotations

from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Told apart by people with any form of colour blindness (M. Okabe and K. Ito, "Color Universal Design", 2008), without
the yellow, which print loses."""

MARKERS = ("o", "s", "^", "D", "P", "X", "v", "*", "<", "h", ">", "p")
"""One for each of twelve series: six frameworks in two profiles."""

LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "..", "xx", "--", "\\\\", "++", "oo")

SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "trialbed",
}
"""Text stays text, and the same run gives the same bytes."""


def colour(place: int) -> str:
    """Of the series at a place."""
    return COLOURS[place % len(COLOURS)]


def marker(place: int) -> str:
    """Of the series at a place."""
    return MARKERS[place % len(MARKERS)]


def line(place: int) -> Any:
    """Of the series at a place."""
    return LINES[place % len(LINES)]


def hatch(place: int) -> str:
    """Of the part at a place."""
    return HATCHES[place % len(HATCHES)]
