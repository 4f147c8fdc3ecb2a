"""The calls and messages of runs as data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.records import TrialResult
from trialbed.wire import ModelMessage, recorded_answer, recorded_request

TRIAL = ("run_id", "framework", "query_id", "repeat", "attempt")
"""The columns that identify a trial."""

CALL = (
    *("place", "started", "duration", "tool", "api", "offered", "arguments", "status", "error", "response"),
    *("provenance", "fault", "source"),
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
        {**_trial(run_id, result), **vars(call), "tool": call.api.tool_name, "api": call.api.api_name, "place": place}
        for result in results
        for place, call in enumerate(result.wire.api_calls)
    )
    return data_frame(rows, [*TRIAL, *CALL])


def messages_frame(run_id: str, results: Iterable[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each message between agent and model.

    Raises:
        UsageError: pandas is not installed.
    """
    rows = ({**_trial(run_id, result), **row} for result in results for row in _messages(result))
    return data_frame(rows, [*TRIAL, *MESSAGE])


def data_frame(values: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a ``pandas.DataFrame`` of columns by their names, or of rows with these columns.

    Raises:
        UsageError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            f"a DataFrame needs pandas, which is not installed ({error}); install it with: {extra_command('dataframe')}"
        ) from error
    return pandas.DataFrame(values, columns=columns)


def _trial(run_id: str, result: TrialResult) -> dict[str, Any]:
    return {"run_id": run_id, **vars(result.key), "attempt": result.attempt}


def _messages(result: TrialResult) -> Iterator[dict[str, Any]]:
    """Yield the messages that each request adds to the conversation, and the answer to it."""
    before: tuple[ModelMessage, ...] = ()
    for number, call in enumerate(result.wire.model_calls):
        request = recorded_request(call)
        sent = () if request is None else request.messages
        said = [(_said(one), _said(other)) for one, other in zip(before, sent, strict=False)]
        known = next((place for place, (one, other) in enumerate(said) if one != other), len(said))
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
