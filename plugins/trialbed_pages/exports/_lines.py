"""The trials of a run as lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.records import Query
from trialbed.store import StoredRun


def trial_lines(run: StoredRun, queries: Mapping[int | str, Query] | None = None) -> Iterator[dict[str, Any]]:
    """Yield an object for each trial that counts, with the main settings of the run and all that the store holds.

    Args:
        queries: those of the run by id, for the task; None where the dataset is out of reach.
    """
    config = run.config
    about = {
        "run_id": run.run_id,
        "dataset": config.dataset,
        "test_set": config.test_set,
        "model": config.model,
        "judge": config.judge,
    }
    annotations = run.annotations
    for result in run.each_counted():
        query = (queries or {}).get(result.key.query_id)
        annotation = annotations.get((result.key.framework, result.key.query_id, result.key.repeat))
        yield {
            **about,
            "model": config.of(result.key.framework).model,
            **result.key.model_dump(),
            "status": result.status,
            "query_text": query.text if query else None,
            "annotation": annotation.model_dump(include={"rating", "note", "correction"}) if annotation else None,
            "scores": {score.name: score.value for score in result.scores},
            "trial": result.model_dump(mode="json"),
        }
