"""The title of a run."""

from __future__ import annotations

from datetime import UTC, datetime

from support.cases import for_each
from support.stored_runs import NEW, run

from trialbed.report import run_title

TITLES = {
    ("reference",): "reference with scripted:wrong-args on 3 queries (mini)",
    ("a", "b"): "a and b with scripted:wrong-args on 3 queries (mini)",
    ("a", "b", "c", "d"): "4 frameworks with scripted:wrong-args on 3 queries (mini)",
}


@for_each("frameworks", TITLES)
def test_a_title_says_what_was_compared(frameworks: tuple[str, ...]) -> None:
    config = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), frameworks).config
    config = config.model_copy(update={"query_ids": (1, 2, 3), "repeat": 1, "test_set": "mini"})
    config = config.model_copy(update={"model": "scripted:wrong-args"})
    assert run_title(config) == TITLES[frameworks]
