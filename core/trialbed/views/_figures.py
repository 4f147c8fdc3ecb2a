"""Figures, names, and the use that helpers of a run make of their models, as text."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from trialbed.records import HelperUse
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.statistics import Estimate

UNKNOWN = "-"
"""Shown if nothing is known; never a number."""

LARGE, SMALL, TINY = 100, 0.001, 1e-6


def number(value: float | None, digits: int = 4) -> str:
    """Return a figure, whole and with separators from 1000 on, else with this many digits after the point."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"


def compact(value: float | None) -> str:
    """A figure at three significant digits, whole and with separators from 100 on.

    It has two digits below a thousandth, and an exponent below a millionth.
    """
    if value is None:
        return UNKNOWN
    if abs(value) >= LARGE:
        return f"{value:,.0f}"
    if abs(value) >= SMALL or not value:
        return f"{value:.3g}"
    return f"{Decimal(f'{value:.2g}'):f}" if abs(value) >= TINY else f"{value:.2g}"


def estimate(found: Estimate | Mapping[str, Any] | None, digits: int = 4, *, with_n: bool = False) -> str:
    """Return a figure with its interval.

    Args:
        found: an estimate, or its JSON with ``value``, ``low``, ``high`` and ``n``.
        digits: after the point.
        with_n: add the number of observations.
    """
    if found is not None and not isinstance(found, Mapping):
        found = found.as_json()
    if found is None or found["value"] is None:
        return UNKNOWN
    text = number(found["value"], digits)
    if found["low"] is not None:
        text += f" [{number(found['low'], digits)}, {number(found['high'], digits)}]"
    return f"{text} n={found['n']}" if with_n else text


def counts(found: Mapping[str, int]) -> str:
    """Numbers of things by name: ``2 timeout, 1 crash``."""
    return ", ".join(f"{count} {name}" for name, count in found.items())


def printable(text: str) -> str:
    """Return the text without characters that would control a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def printable_lines(text: str) -> str:
    """A text of several lines without characters that would control a terminal."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def helper_line(use: HelperUse) -> str:
    """Return a helper's requests, tokens and cost."""
    parts = [number_of(use.requests, "request"), number_of(use.tokens, "token")]
    if use.cost is not None:
        parts.append(f"{'at least ' if use.unreported else ''}{compact(use.cost)} USD")
    if use.cached:
        parts.append(f"{number_of(use.cached, 'reply', 'replies')} from the cache")
    return f"{use.role} {use.model}: {', '.join(parts)}"


def lost_line(lost: Mapping[str, int]) -> str:
    """Say how many trials were lost with each node; empty if no trial was lost."""
    count = sum(lost.values())
    if not count:
        return ""
    were, nodes = ("was", "its node") if count == 1 else ("were", "their nodes")
    numbers = ", ".join(f"{node} {number:,}" for node, number in sorted(lost.items()))
    return f"{number_of(count, 'trial')} {were} lost with {nodes}, and ran again: {numbers}"
