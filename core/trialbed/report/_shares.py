"""Shares and their differences as sentences have them."""

from __future__ import annotations

LEAST, WHOLE = 0.05, 9.5
"""Points below which a difference has no figure, and from which on it has no digit after the point."""


def percent(share: float, digits: int = 0) -> str:
    """Return a share as a percentage that is 0 or 100 only where the share is 0 or 1.

    Args:
        digits: after the point.
    """
    # Rounded as the share is where it stands as a number: 0.475 is 0.47 in a table, and 47 % here.
    shown, step = f"{100 * float(f'{share:.{digits + 2}f}'):.{digits}f}", 10.0**-digits
    if share > 0 and not float(shown):
        return f"<{step:.{digits}f} %"
    return f">{100 - step:.{digits}f} %" if share < 1 and float(shown) == 100 else f"{shown} %"


def points(difference: float) -> str:
    """Return a difference between shares without its sign; a small one has a digit, as shares are rounded."""
    # Means over the same values in another order differ by an error of rounding.
    found = round(abs(100 * difference), 9)
    if 0 < found < LEAST:
        return "less than 0.1 points"
    shown = f"{found:.0f}" if found >= WHOLE else f"{found:.1f}".removesuffix(".0")
    return "1 point" if shown == "1" else f"{shown} points"
