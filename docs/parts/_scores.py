"""The scores of trials."""

from __future__ import annotations

from parts._markdown import escaped, table
from trialbed_plugins.scorers import CATALOG


def scores() -> str:
    """Every built-in score in a line."""
    rows = [
        (
            f"[`{info.name}`](scores/{info.name}.md)",
            escaped(info.meaning),
            info.range,
            info.failed,
            escaped(info.missing),
        )
        for info in CATALOG
    ]
    return table(("score", "meaning", "range", "a failed trial counts", "an answered trial has no value if"), rows)
