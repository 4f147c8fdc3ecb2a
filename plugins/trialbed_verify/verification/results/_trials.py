"""A row of a results file as a trial of the store, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import cast

from trialbed.records import (
    Attempt,
    Failure,
    ModelCall,
    Outcome,
    Timing,
    TrialKey,
    TrialResult,
    Usage,
    WireLog,
)
from trialbed.store import VerifiedCase
from trialbed.wire import ANSWERED, dump_json, parse_json
from trialbed_verify.verification.results._row import Row
from trialbed_verify.verification.wire import AttemptFields

OF_THE_CALL = frozenset(("request", "response"))
"""Keys of a row that the log of the request has."""


def trial_result(label: str, row: Row, *, attempt: int, session: str) -> TrialResult:
    """Return the trial of a row.

    Args:
        label: the endpoint's, in the run.
        attempt: its number among those of the trial.
        session: names the invocation of the command. Of several attempts that of the latest session counts.
    """
    *earlier, last = row["attempts"]
    opened = datetime.fromisoformat(row["attempts"][0]["started_at"])
    duration = last["duration_ms"] / 1000
    waiting = (sum(each["waited_ms"] + each["duration_ms"] for each in earlier) + last["waited_ms"]) / 1000
    return TrialResult(
        trial="",
        key=TrialKey(framework=label, query_id=row["data_index"], repeat=row["trial"]),
        seed=0,
        outcome=Outcome(started_at=opened, wall_time=waiting + duration, failure=_failure(row)),
        wire=WireLog(trial="", opened_at=opened, model_calls=(_call(row, waiting, duration),)),
        timing=Timing(wall=waiting + duration, model=duration, tool=0.0, framework=0.0, waiting=waiting),
        selected_tools=(),
        attempt=attempt,
        adapter_digest=session,
        verified={key: value for key, value in row.items() if key not in OF_THE_CALL},
    )


def row_of(case: VerifiedCase) -> Row:
    """Return the row of a stored case, with its keys in the order of results files."""
    rest = case.verified
    row = {"data_index": rest["data_index"], "request": parse_json(case.request.encode())}
    row |= {"extra_body": rest["extra_body"], "response": parse_json(case.response.encode())}
    return cast("Row", row | rest)


def _call(row: Row, waiting: float, duration: float) -> ModelCall:
    last, problem = row["attempts"][-1], row["problem"]
    request, response = dump_json(row["request"]), dump_json(row["response"])
    first_token = last["ttft_ms"]
    return ModelCall(
        started=waiting,
        duration=duration,
        first_token=None if first_token is None else first_token / 1000,
        status=last["status"] or 0,
        request=request.decode(),
        response=response.decode(),
        request_bytes=len(request),
        response_bytes=len(response),
        usage=_usage(row),
        finish_reason=row["finish_reason"],
        error=None if problem is None else f"{problem['kind']}: {problem['message']}",
        cause=None if problem is None else "endpoint",
        attempts=tuple(_earlier(row["attempts"])),
        waited=waiting,
    )


def _usage(row: Row) -> Usage | None:
    known = {key: row[key] for key in ("prompt_tokens", "completion_tokens") if row[key] is not None}
    return Usage(**known) if len(known) == 2 else None


def _earlier(attempts: Sequence[AttemptFields]) -> Iterator[Attempt]:
    """The attempts before the last, each with the wait after it."""
    started = 0.0
    for attempt, following in pairwise(attempts):
        started += attempt["waited_ms"] / 1000
        duration, problem = attempt["duration_ms"] / 1000, attempt["problem"] or {}
        yield Attempt(
            started=started,
            duration=duration,
            status=attempt["status"] or 0,
            error=problem.get("kind", ""),
            wait=following["waited_ms"] / 1000,
        )
        started += duration


def _failure(row: Row) -> Failure | None:
    """Return why there is no answer: one that breaks the protocol is the model's, all else the endpoint's."""
    problem = row["problem"]
    if row["outcome"] in ANSWERED or problem is None:
        return None
    kind = "model" if row["outcome"] == "protocol_error" else "endpoint"
    return Failure(kind=kind, message=f"{problem['kind']}: {problem['message']}")
