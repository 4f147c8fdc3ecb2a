"""The scores of trials."""

from __future__ import annotations

from parts._markdown import escaped, table
from trialbed_plugins.scorers import CATALOG


def scores() -> str:
    """Every built-in score in a line."""
    rows = [
        (
            f"[`{score.name}`](#{score.name})",
            escaped(score.meaning),
            "0 … 1" if score.bounded else f"0 … ({score.unit})",
            "0" if score.bounded and score.quality else "left out",
            escaped(score.missing or "never"),
        )
        for score in CATALOG
    ]
    return table(("score", "meaning", "range", "a failed trial counts", "an answered trial has no value if"), rows)
