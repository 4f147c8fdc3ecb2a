"""Convert trials to rows with scores, calls and bodies, and select the attempt of a trial that counts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Row, delete, func, select, union, update

from trialbed.errors import DataError
from trialbed.records import ApiCall, FailureKind, ModelCall, Score, TrialResult, TrialStatus, WireLog
from trialbed.store._database import TrialNumbers, blobs, calls, scores, trials
from trialbed.store._rows import (
    Bodies,
    Rows,
    add_body,
    column_text,
    decode,
    decode_record,
    encode,
    encode_id,
    insert,
    insert_bodies,
    read_bodies,
    unpack_body,
)
from trialbed.wire_log import failed, finish_reasons, observed_usage, refusals


class AttemptSummary(NamedTuple):
    """The columns of an attempt without its answer. ``row`` identifies the whole attempt in the store."""

    key: Any
    attempt: int
    status: TrialStatus
    adapter_digest: str
    failure: FailureKind | None = None
    row: int = 0


A = TypeVar("A", AttemptSummary, TrialResult)


def counted_attempts(attempts: Iterable[A]) -> list[A]:
    """Return the attempt of each trial that counts, in the given order.

    This is the first that was measured: a further attempt with the same adapter does not improve a score. If the
    adapter or its environment changed before a later one, it is the first that was measured with the latest code. If
    none was measured, it is the last.
    """
    of_trial: dict[Hashable, list[A]] = defaultdict(list)
    given = list(attempts)
    for attempt in given:
        of_trial[attempt.key].append(attempt)
    counted = set[int]()
    for own in of_trial.values():
        ordered = sorted(own, key=lambda attempt: attempt.attempt)
        measured = [attempt for attempt in ordered if attempt.status != "not measured"]
        latest = [attempt for attempt in measured if attempt.adapter_digest == measured[-1].adapter_digest]
        counted.add(id(latest[0] if latest else ordered[-1]))
    return [attempt for attempt in given if id(attempt) in counted]


CLAIMS = "claimed_vs_observed"
"""The score with details that are counted over all trials."""

MODEL, API = "model", "api"
"""Kinds of calls."""


def insert_trials(connection: Connection, run_id: str, results: Sequence[TrialResult]) -> None:
    """Add attempts that have ended, in this order."""
    if not results:
        return
    apart = dict.fromkeys(("scores", "verified", *IN_FACTS), True)
    left_out: dict[str, Any] = {"wire": {"model_calls", "api_calls"}, **apart}
    rows = []
    for result in results:
        outcome, wire = result.outcome, result.wire
        facts = {
            **{name: getattr(result, name) for name in IN_FACTS},
            "finish_reasons": finish_reasons(wire),
            "refused": refusals(wire),
            "lost": [call.reason for call in wire.lost],
            "message": outcome.failure.message if outcome.failure else None,
        }
        if own := sum(call.source == "conversation" for call in wire.api_calls):
            facts["own_calls"] = own
        rows.append(
            {
                "run_id": run_id,
                **_key_columns(result),
                "status": result.status,
                "failure": outcome.failure.kind if outcome.failure else None,
                "adapter_digest": result.adapter_digest,
                "first": int(outcome.first),
                "wall_time": result.timing.wall,
                "evaluation_time": result.evaluation_time,
                "ended": outcome.started_at.timestamp() + outcome.wall_time,
                "absent": ",".join(result.absent),
                **_numbers(result)._asdict(),
                "facts": encode(facts),
                # The findings of a verification are JSON, and a copy would take longer than to write them.
                "record": encode(result.model_dump(exclude=left_out) | {"verified": result.verified}),
            }
        )
    trial_ids = _insert_rows(connection, rows)
    bodies: Bodies = {}
    score_rows, call_rows = [], []
    for trial_id, result in zip(trial_ids, results, strict=True):
        score_rows += _score_rows(trial_id, result.scores)
        call_rows += _call_rows(trial_id, result.wire, bodies)
    insert_bodies(connection, bodies)
    insert(connection, scores, score_rows)
    insert(connection, calls, call_rows)


def _insert_rows(connection: Connection, rows: Rows) -> Sequence[int]:
    """Insert the rows of trials and return their ids, in the rows' order."""
    if connection.dialect.name != "sqlite":
        return connection.scalars(INSERT_TRIALS, rows).all()
    # SQLite returns the ids of one row at a time. This transaction has the store's only lock, so they can be counted.
    first = 1 + (connection.scalar(select(func.max(trials.c.id))) or 0)
    insert(connection, trials, [{"id": first + place, **row} for place, row in enumerate(rows)])
    return range(first, first + len(rows))


def _key_columns(result: TrialResult) -> dict[str, Any]:
    key = result.key
    own = {"framework": key.framework, "query_id": encode_id(key.query_id), "repeat": key.repeat}
    return own | {"attempt": result.attempt}


IN_PART = 100
"""Whole trials per read."""

INSERT_TRIALS = trials.insert().returning(trials.c.id, sort_by_parameter_order=True)
"""Adds rows and returns their ids in the rows' order."""


def add_scores(connection: Connection, run_id: str, result: TrialResult, added: Sequence[Score]) -> None:
    """Add scores to a stored attempt; existing scores of the same name are replaced.

    Raises:
        DataError: the attempt is not there.
    """
    chosen = select(trials.c.id).filter_by(run_id=run_id, **_key_columns(result)).with_for_update()
    row_id = connection.scalar(chosen)
    if row_id is None:
        raise DataError(f"run {run_id!r} no longer has this attempt, so it cannot be scored")
    names = {score.name for score in added}
    kept = [score for score in _read_scores(connection, [row_id])[row_id] if score.name not in names]
    scored = result.model_copy(update={"scores": (*kept, *added)})
    connection.execute(delete(scores).where(scores.c.trial_id == row_id))
    insert(connection, scores, _score_rows(row_id, scored.scores))
    if CLAIMS in names:
        connection.execute(update(trials).where(trials.c.id == row_id).values(_numbers(scored)._asdict()))


def results_of(connection: Connection, row_ids: Sequence[int]) -> Iterator[TrialResult]:
    """Yield the attempts of some rows in the order of these, read in parts; rows that are gone are left out."""
    for first in range(0, len(row_ids), IN_PART):
        own = list(row_ids[first : first + IN_PART])
        rows = {row.id: row for row in connection.execute(select(trials).where(trials.c.id.in_(own)))}
        found, logged = _read_scores(connection, own), _read_calls(connection, own)
        for row in filter(None, map(rows.get, own)):
            yield _result(row, found[row.id], logged[row.id])


def read_answers(connection: Connection, row_ids: Sequence[int]) -> dict[int, str]:
    """Return the final answers of some rows without reading their calls; rows without an answer are left out."""
    found: dict[int, str] = {}
    for first in range(0, len(row_ids), IN_PART):
        chosen = select(trials.c.id, trials.c.record).where(trials.c.id.in_(row_ids[first : first + IN_PART]))
        for row_id, record in connection.execute(chosen):
            if answer := decode(record)["outcome"].get("answer"):
                found[row_id] = answer["final_answer"]
    return found


REQUESTS, RESPONSES = blobs.alias(), blobs.alias()

EXCHANGES = (
    select(trials.c.id, trials.c.record, REQUESTS.c.digest, REQUESTS.c.body, RESPONSES.c.digest, RESPONSES.c.body)
    .join(calls, calls.c.trial_id == trials.c.id)
    .join(REQUESTS, REQUESTS.c.digest == calls.c.request)
    .join(RESPONSES, RESPONSES.c.digest == calls.c.response)
)


def read_exchanges(connection: Connection, row_ids: Sequence[int]) -> list[tuple[dict[str, Any], str, str]]:
    """Return the JSON of attempts with one request each, and the bodies of requests and answers; makes no records."""
    rows = connection.execute(EXCHANGES.where(trials.c.id.in_(row_ids))).all()
    found = {row[0]: (decode(row[1]), unpack_body(*row[2:4]), unpack_body(*row[4:])) for row in rows}
    return [found[row_id] for row_id in row_ids]


IN_FACTS = ("integrity", "gold_calls")
"""Fields of a result that are in the facts of its row, and not in its record."""


def _numbers(result: TrialResult) -> TrialNumbers:
    answer, wire = result.outcome.answer, result.wire
    turns, calls = wire.model_calls, wire.api_calls
    used = [turn.usage for turn in turns if turn.usage is not None]
    recorded = [turn for turn in turns if turn.recorded is not None]
    claims = result.score(CLAIMS)
    detail = claims.detail if claims is not None else {}
    found = TrialNumbers(
        requests=len(turns),
        request_errors=sum(map(failed, turns)),
        unreported=sum(1 for turn in turns if turn.usage is None and not failed(turn)),
        prompt_tokens=sum(usage.prompt_tokens for usage in used),
        completion_tokens=sum(usage.completion_tokens for usage in used),
        recorded_requests=len(recorded),
        recorded_tokens=sum(turn.usage.total_tokens for turn in recorded if turn.usage),
        invalid_calls=sum(1 for turn in turns for call in turn.tool_calls if call.problem is not None),
        truncated=sum(1 for turn in turns if turn.finish_reason == "length"),
        text_calls=sum(len(turn.text_calls) for turn in wire.model_calls),
        refused=sum(turn.cause == "limit" for turn in turns),
        lost_calls=len(wire.lost),
        filled=len(wire.filled),
        api_calls=len(calls),
        api_errors=sum(1 for call in calls if call.error or call.status != 200),
        cached_calls=sum(1 for call in calls if call.cached),
        waited=sum(turn.waited for turn in turns if turn.recorded is None),
        translated=sum(1 for turn in turns if turn.translated),
        cost=result.cost,
        invented_claims=len(detail.get("invented", ())),
        unreported_claims=len(detail.get("unreported", ())),
        unasked_claims=len(detail.get("unasked", ())),
    )
    # Frameworks count the tokens of answers, but not of vectors.
    if answer is not None and answer.usage is not None and not wire.embedding_calls:
        observed = observed_usage(wire)
        if observed is not None:
            found = found._replace(claimed_tokens=answer.usage.total_tokens, observed_tokens=observed.total_tokens)
    if answer is not None and answer.model_turns is not None and turns:
        found = found._replace(claimed_turns=answer.model_turns, observed_turns=len(turns) - found.request_errors)
    return found


def _score_rows(trial_id: int, own: Sequence[Score]) -> Rows:
    return [
        {
            "trial_id": trial_id,
            "position": place,
            "name": column_text(score.name),
            # SQLite has no NaN; the record keeps it.
            "value": None if score.value is None or math.isnan(score.value) else score.value,
            "label": column_text(score.label),
            "bounded": int(score.bounded),
            "quality": int(score.bounded and score.quality),
            "record": encode(vars(score)),  # a copy of its fields would take longer than to write them
        }
        for place, score in enumerate(own)
    ]


def _read_scores(connection: Connection, trial_ids: Any) -> dict[int, list[Score]]:
    found: dict[int, list[Score]] = defaultdict(list)
    chosen = select(scores).where(scores.c.trial_id.in_(trial_ids)).order_by(scores.c.trial_id, scores.c.position)
    for row in connection.execute(chosen):
        found[row.trial_id].append(decode_record(Score, row.record))
    return found


def _call_rows(trial_id: int, wire: WireLog, bodies: Bodies) -> Rows:
    kinds: dict[str, Sequence[ModelCall | ApiCall]] = {MODEL: wire.model_calls, API: wire.api_calls}
    return [
        {
            "trial_id": trial_id,
            "kind": kind,
            "position": place,
            "request": add_body(bodies, call.request) if isinstance(call, ModelCall) else None,
            "response": add_body(bodies, call.response if isinstance(call, ModelCall) else encode(call.response)),
            "record": encode({key: value for key, value in vars(call).items() if key not in ("request", "response")}),
        }
        for kind, own in kinds.items()
        for place, call in enumerate(own)
    ]


def _read_calls(connection: Connection, trial_ids: Sequence[int]) -> dict[int, dict[str, tuple[Any, ...]]]:
    """Return the calls of trials and their bodies, as fields of wire logs."""
    own = calls.c.trial_id.in_(trial_ids)
    bodies = read_bodies(connection, union(select(calls.c.request).where(own), select(calls.c.response).where(own)))
    chosen = select(calls).where(own).order_by(calls.c.position)
    made: dict[tuple[int, str], list[ModelCall | ApiCall]] = defaultdict(list)
    for row in connection.execute(chosen):
        read: ModelCall | ApiCall
        if row.kind == MODEL:
            read = decode_record(ModelCall, row.record, request=bodies[row.request], response=bodies[row.response])
        else:
            read = decode_record(ApiCall, row.record, response=decode(bodies[row.response]))
        made[row.trial_id, row.kind].append(read)
    return {one: {f"{kind}_calls": tuple(made[one, kind]) for kind in (MODEL, API)} for one in trial_ids}


def _result(row: Row[Any], found: list[Score], logged: Mapping[str, Any]) -> TrialResult:
    facts = decode(row.facts)
    result = decode_record(TrialResult, row.record, scores=found, **{name: facts[name] for name in IN_FACTS})
    return result.model_copy(update={"wire": result.wire.model_copy(update=logged)})
