"""Sides of comparisons with known scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trialbed.report.comparison import Side, compared_settings
from trialbed.store import TrialTable

SCORE = "sopr_score"


def side(name: str, values: Mapping[Any, Any], **more: Any) -> Side:
    """Return a side.

    Args:
        values: query -> its trial, or a list of repeats: the value of ``sopr_score``, scores by name, or None for a
            trial that failed.
        **more: other fields of the side.
    """
    trials = [
        (place, repeat, found)
        for place, own in enumerate(values.values())
        for repeat, found in enumerate(own if isinstance(own, list) else [own])
    ]
    scores = [found if isinstance(found, Mapping) else {SCORE: found} for _, _, found in trials]
    status = ["failed" if found is None else "answered" for _, _, found in trials]
    names = dict.fromkeys([SCORE, *(name for own in scores for name in own)])
    columns = {score: np.array([own.get(score) for own in scores], dtype=float) for score in names}
    table = TrialTable(
        labels=[name],
        queries=list(values),
        columns={
            "query": np.array([place for place, _, _ in trials], dtype=np.int64),
            "repeat": np.array([repeat for _, repeat, _ in trials], dtype=np.int64),
            "status": np.array(status, dtype=object),
            "absent": np.array([""] * len(trials), dtype=object),
            **{other: np.zeros(len(trials), dtype=np.int64) for other in ("framework", "first")},
            "row": np.arange(len(trials)),
        },
        scores=columns,
        given={score: np.isfinite(column) for score, column in columns.items()},
    )
    about = {"agent_name": name, "run_id": "r", **compared_settings()}
    fields = {"bounded": frozenset({SCORE}), "quality": frozenset({SCORE}), "about": about}
    return Side("r", name, trials=table, **fields | more)
