"""Trials as rows: the trial, its scores, its calls and their bodies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, select, union

from trialbed.records import ApiCall, ModelCall, Score, TrialKey, TrialResult, WireLog
from trialbed.store._blobs import Bodies, body_of, read_bodies
from trialbed.store._json import column_text, decode, decode_id, decode_record, encode, encode_id, encode_record
from trialbed.store._schema import calls, scores, trials

Rows = list[dict[str, Any]]
Decoded = dict[int, list[Any]]


def insert_trial(connection: Connection, run_id: str, result: TrialResult) -> None:
    """Add a trial that has ended."""
    bodies = Bodies()
    rows = _call_rows(result.wire, bodies)
    row = {"run_id": run_id, **_columns(result)}
    trial_id = connection.execute(trials.insert().returning(trials.c.id), row).scalar_one()
    bodies.insert(connection)
    _insert(connection, scores, trial_id, _score_rows(result))
    _insert(connection, calls, trial_id, rows)


def read_keys(connection: Connection, run_id: str) -> set[TrialKey]:
    """The identities of the run's trials."""
    query = select(trials.c.framework, trials.c.query_id, trials.c.repeat).where(trials.c.run_id == run_id)
    return {
        TrialKey(framework=row.framework, query_id=decode_id(row.query_id), repeat=row.repeat)
        for row in connection.execute(query)
    }


def read_results(connection: Connection, run_id: str, framework: str | None) -> list[TrialResult]:
    """The run's trials, complete, in the order in which they were added."""
    chosen = select(trials.c.id).where(trials.c.run_id == run_id)
    if framework is not None:
        chosen = chosen.where(trials.c.framework == framework)
    found = _read_scores(connection, chosen)
    model_calls, api_calls = _read_calls(connection, chosen)
    query = select(trials.c.id, trials.c.record).where(trials.c.id.in_(chosen)).order_by(trials.c.id)
    return [
        _result(row.record, found[row.id], model_calls[row.id], api_calls[row.id]) for row in connection.execute(query)
    ]


def read_trials(connection: Connection, run_id: str, **columns: Any) -> list[tuple[int, TrialResult]]:
    """The run's trials with their row ids, without calls, in the order in which they were added.

    Args:
        **columns: only the trials whose columns have these values.
    """
    chosen = select(trials.c.id).where(trials.c.run_id == run_id)
    for name, value in columns.items():
        chosen = chosen.where(trials.c[name] == value)
    found = _read_scores(connection, chosen)
    query = select(trials.c.id, trials.c.record).where(trials.c.id.in_(chosen)).order_by(trials.c.id)
    return [(row.id, _result(row.record, found[row.id], [], [])) for row in connection.execute(query)]


def read_wire(connection: Connection, trial_id: int, wire: WireLog) -> WireLog:
    """The wire log of one trial, completed by its calls and their bodies."""
    model_calls, api_calls = _read_calls(connection, select(trials.c.id).where(trials.c.id == trial_id))
    return _completed(wire, model_calls[trial_id], api_calls[trial_id])


def _columns(result: TrialResult) -> dict[str, Any]:
    failure = result.outcome.failure
    record = result.model_dump(exclude={"scores": True, "wire": {"model_calls", "api_calls"}})
    return {
        "framework": result.key.framework,
        "query_id": encode_id(result.key.query_id),
        "repeat": result.key.repeat,
        "failure": failure.kind if failure else None,
        "wall_time": result.timing.wall,
        "record": encode(record),
    }


def _score_rows(result: TrialResult) -> Rows:
    return [
        {
            "name": column_text(score.name),
            "value": score.value,
            "label": column_text(score.label),
            "record": encode_record(score),
        }
        for score in result.scores
    ]


def _call_rows(wire: WireLog, bodies: Bodies) -> Rows:
    return [_model_row(call, place, bodies) for place, call in enumerate(wire.model_calls)] + [
        _api_row(call, place, bodies) for place, call in enumerate(wire.api_calls)
    ]


def _model_row(call: ModelCall, place: int, bodies: Bodies) -> dict[str, Any]:
    return _call_row(call, "model", place) | {
        "request": bodies.add(call.request),
        "response": bodies.add(call.response),
        "record": encode_record(call, exclude=("request", "response")),
    }


def _api_row(call: ApiCall, place: int, bodies: Bodies) -> dict[str, Any]:
    return _call_row(call, "api", place) | {
        "request": None,
        "response": bodies.add(encode(call.response)),
        "record": encode_record(call, exclude=("response",)),
    }


def _call_row(call: ModelCall | ApiCall, kind: str, place: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "position": place,
        "started": call.started,
        "duration": call.duration,
        "status": call.status,
    }


def _insert(connection: Connection, table: Any, trial_id: int, rows: Rows) -> None:
    if rows:
        numbered = [{"position": place, **row, "trial_id": trial_id} for place, row in enumerate(rows)]
        connection.execute(table.insert(), numbered)


def _read_scores(connection: Connection, chosen: Select[Any]) -> Decoded:
    query = select(scores).where(scores.c.trial_id.in_(chosen)).order_by(scores.c.trial_id, scores.c.position)
    found: Decoded = defaultdict(list)
    for row in connection.execute(query):
        found[row.trial_id].append(decode_record(Score, row.record))
    return found


def _read_calls(connection: Connection, chosen: Select[Any]) -> tuple[Decoded, Decoded]:
    of_trials = calls.c.trial_id.in_(chosen)
    digests = union(select(calls.c.request).where(of_trials), select(calls.c.response).where(of_trials))
    bodies = read_bodies(connection, select(digests.subquery()))
    model_calls: Decoded = defaultdict(list)
    api_calls: Decoded = defaultdict(list)
    for row in connection.execute(select(calls).where(of_trials).order_by(calls.c.trial_id, calls.c.position)):
        if row.kind == "model":
            model_calls[row.trial_id].append(_model_call(row, bodies))
        else:
            api_calls[row.trial_id].append(_api_call(row, bodies))
    return model_calls, api_calls


def _model_call(row: Row[Any], bodies: Mapping[str, str]) -> ModelCall:
    request, response = body_of(bodies, row.request), body_of(bodies, row.response)
    return decode_record(ModelCall, row.record, request=request, response=response)


def _api_call(row: Row[Any], bodies: Mapping[str, str]) -> ApiCall:
    return decode_record(ApiCall, row.record, response=decode(body_of(bodies, row.response)))


def _result(text: str, found: list[Score], model_calls: list[ModelCall], api_calls: list[ApiCall]) -> TrialResult:
    result = decode_record(TrialResult, text, scores=found)
    return result.model_copy(update={"wire": _completed(result.wire, model_calls, api_calls)})


def _completed(wire: WireLog, model_calls: list[ModelCall], api_calls: list[ApiCall]) -> WireLog:
    return wire.model_copy(update={"model_calls": tuple(model_calls), "api_calls": tuple(api_calls)})
