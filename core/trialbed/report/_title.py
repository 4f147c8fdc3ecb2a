"""The title of a run, which says what was compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialbed.records import RunConfig

NAMED = 3
"""Frameworks up to which a title names each."""


def run_title(config: RunConfig) -> str:
    """Return the frameworks, the models and the queries of a run in words."""
    names = config.frameworks
    compared = _in_words(names) if len(names) <= NAMED else f"{len(names)} frameworks"
    number = len(config.query_ids)
    queries = "1 query" if number == 1 else f"{number:,} queries"
    times = f", {config.repeat} times each" if config.repeat > 1 else ""
    return f"{compared} with {_in_words(config.models)} on {queries}{times} ({config.test_set})"


def _in_words(names: Sequence[str]) -> str:
    *first, last = names or ("nothing",)
    return f"{', '.join(first)} and {last}" if first else last
