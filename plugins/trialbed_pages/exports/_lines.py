"""A run as lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.records import Query
from trialbed.store import StoredRun
from trialbed_pages.exports._trials import each_trial


def trial_lines(run: StoredRun, queries: Mapping[int | str, Query] | None = None) -> Iterator[dict[str, Any]]:
    """An object for each trial that counts: what it was of, and all that the store holds of it.

    Args:
        queries: the run's, by id, for the task; None where the dataset is out of reach.
    """
    config = run.config
    about = {
        "run_id": run.run_id,
        "dataset": config.dataset,
        "test_set": config.test_set,
        "model": config.model,
        "judge": config.judge,
    }
    for result in each_trial(run):
        query = (queries or {}).get(result.key.query_id)
        yield {
            **about,
            **result.key.model_dump(),
            "status": result.status,
            "query_text": query.text if query else None,
            "scores": {score.name: score.value for score in result.scores},
            "trial": result.model_dump(mode="json"),
        }
