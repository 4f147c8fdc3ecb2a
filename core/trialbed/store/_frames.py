"""Runs as data frames of pandas: a row for each trial, each call, or each message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.records import ApiCall, RunConfig, TrialResult
from trialbed.scoring import TIMES, absent_by_trials, first_trials_apart, quality_scores, zero_scores
from trialbed.wire import ModelMessage, recorded_answer, recorded_request

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
    "first",
)
"""The columns that do not hold scores."""


def trial_frame(run_id: str, config: RunConfig, results: Sequence[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each trial, and a column for each score beside those of ``KEYS``.

    Args:
        results: the trials that count.

    Raises:
        UsageError: pandas is not installed.
    """
    rows = trial_rows(run_id, config, results)
    scores = dict.fromkeys(name for row in rows for name in row if name not in KEYS)
    return _frame(rows, [*KEYS, *scores])


TRIAL = ("run_id", "framework", "query_id", "repeat", "attempt")
"""The columns that identify a trial."""

CALL = (
    *("place", "started", "duration", "tool", "api", "offered", "arguments", "status", "error", "response"),
    *("provenance", "fault"),
)
"""The columns of a call, as ``ApiCall`` has them; its place among the calls of its trial is counted from 0."""

MESSAGE = ("request", "answer", "role", "text", "calls", "call_id", "tokens")
"""The columns of a message, as ``messages_frame`` describes them."""


def calls_frame(run_id: str, results: Iterable[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each call of an Api.

    Raises:
        UsageError: pandas is not installed.
    """
    rows = (
        {**_trial(run_id, result), **_call(call), "place": place}
        for result in results
        for place, call in enumerate(result.wire.api_calls)
    )
    return _frame(rows, [*TRIAL, *CALL])


def messages_frame(run_id: str, results: Iterable[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each message between agent and model.

    Raises:
        UsageError: pandas is not installed.
    """
    rows = ({**_trial(run_id, result), **row} for result in results for row in _messages(result))
    return _frame(rows, [*TRIAL, *MESSAGE])


def _frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            f"a DataFrame needs pandas, which is not installed ({error}); install it with: {extra_command('dataframe')}"
        ) from error
    return pandas.DataFrame(list(rows), columns=list(columns))


def _trial(run_id: str, result: TrialResult) -> dict[str, Any]:
    return {"run_id": run_id, **result.key.model_dump(include={"framework", "query_id", "repeat"})} | {
        "attempt": result.attempt
    }


def _call(call: ApiCall) -> dict[str, Any]:
    kept = {name: getattr(call, name) for name in CALL if name not in ("place", "tool", "api")}
    return {**kept, "tool": call.api.tool_name, "api": call.api.api_name}


def _messages(result: TrialResult) -> Iterator[dict[str, Any]]:
    """Yield what each request adds to the conversation before it, and the answer to it."""
    before: tuple[ModelMessage, ...] = ()
    for number, call in enumerate(result.wire.model_calls):
        request = recorded_request(call)
        sent = () if request is None else request.messages
        known = sum(
            1 for _ in takewhile(lambda pair: _said(pair[0]) == _said(pair[1]), zip(before, sent, strict=False))
        )
        for message in sent[known:]:
            yield {"request": number, "answer": False, **_message(message)}
        answer = recorded_answer(call).answer
        before = (*sent, answer)
        tokens = call.usage and call.usage.completion_tokens
        if call.error is None:
            yield {"request": number, "answer": True, **_message(answer), "tokens": tokens}


def _message(message: ModelMessage) -> dict[str, Any]:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls]
    return {"role": message.role, "text": message.text, "calls": calls, "call_id": message.call_id}


def _said(message: ModelMessage) -> tuple[Any, ...]:
    return message.role, message.text, message.call_id, [(call.name, call.arguments) for call in message.calls]


def trial_rows(run_id: str, config: RunConfig, results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """The rows, whose means are those of tables.

    A failed trial is 0 in scores of quality; a score without a value is None, and so are the times of each worker's
    first trial, unless a framework has no others.
    """
    quality = quality_scores(results)
    groups = {name: [result for result in results if result.key.framework == name] for name in config.frameworks}
    left_out = TIMES if first_trials_apart(groups) else ()
    answered = (
        (result.key.query_id, [score.name for score in result.scores if score.value is not None])
        for result in results
        if result.status == "answered"
    )
    absent = absent_by_trials(config.query_ids, answered)
    return [
        _row(run_id, config, result, zero_scores(quality, result.key.query_id, absent), left_out) for result in results
    ]


def _row(
    run_id: str, config: RunConfig, result: TrialResult, zeros: Sequence[str], left_out: Sequence[str]
) -> dict[str, Any]:
    failure, sopr = result.outcome.failure, result.score("sopr_score")
    keys = {
        "run_id": run_id,
        "model": config.of(result.key.framework).model,
        "test_set": config.test_set,
        "framework": result.key.framework,
        "query_id": result.key.query_id,
        "repeat": result.key.repeat,
        "attempt": result.attempt,
        "status": result.status,
        "failure": failure.kind if failure else None,
        "answer_status": sopr.label if sopr and result.status == "answered" else None,
        "first": result.first,
    }
    if result.status == "failed":
        return {**keys, **dict.fromkeys(zeros, 0.0)}
    if result.status == "not measured":
        return keys
    values = {score.name: score.value for score in result.scores if score.name not in KEYS}
    return {**keys, **values, **(dict.fromkeys(left_out) if result.first else {})}
