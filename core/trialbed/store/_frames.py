"""The trials of a run as a table of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import RunConfig, TrialResult
from trialbed.scoring import quality_scores

KEYS = (
    "run_id",
    "model",
    "test_set",
    "framework",
    "query_id",
    "repeat",
    "attempt",
    "status",
    "failure",
    "answer_status",
)
"""The columns that do not hold scores."""


def trial_frame(run_id: str, config: RunConfig, results: Sequence[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each trial, and a column for each score beside those of ``KEYS``.

    Args:
        results: the trials that count.

    Raises:
        UsageError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            f"a DataFrame needs pandas, which is not installed ({error}); install it with: "
            "pip install 'trialbed[dataframe]'"
        ) from error
    rows = trial_rows(run_id, config, results)
    scores = dict.fromkeys(name for row in rows for name in row if name not in KEYS)
    return pandas.DataFrame(rows, columns=[*KEYS, *scores])


def trial_rows(run_id: str, config: RunConfig, results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """The rows: a failed trial is 0 in scores of quality, as in all means; a score without a value is None."""
    quality = quality_scores(results)
    return [_row(run_id, config, result, quality) for result in results]


def _row(run_id: str, config: RunConfig, result: TrialResult, quality: Sequence[str]) -> dict[str, Any]:
    failure, sopr = result.outcome.failure, result.score("sopr_score")
    keys = {
        "run_id": run_id,
        "model": config.model,
        "test_set": config.test_set,
        "framework": result.key.framework,
        "query_id": result.key.query_id,
        "repeat": result.key.repeat,
        "attempt": result.attempt,
        "status": result.status,
        "failure": failure.kind if failure else None,
        "answer_status": sopr.label if sopr and result.status == "answered" else None,
    }
    if result.status == "failed":
        return {**keys, **dict.fromkeys(quality, 0.0)}
    if result.status == "not measured":
        return keys
    return {**keys, **{score.name: score.value for score in result.scores if score.name not in KEYS}}
