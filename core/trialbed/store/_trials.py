"""Trials as rows: the trial, its scores, its calls and their bodies."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, and_, delete, func, select, union, update

from trialbed.errors import DataError
from trialbed.records import ApiCall, ModelCall, Score, TrialKey, TrialResult, TrialStatus, WireLog
from trialbed.store._attempts import AttemptSummary, counted_attempts
from trialbed.store._blobs import Bodies, body_of, read_bodies
from trialbed.store._rows import (
    IN_ONE,
    Rows,
    check,
    checksum,
    column_text,
    decode,
    decode_id,
    decode_record,
    encode,
    encode_id,
    encode_record,
    insert,
    with_checksum,
)
from trialbed.store._schema import calls, runs, scores, trials
from trialbed.wire_log import failed, finish_reasons, observed_usage, refusals, text_calls, truncated

ByTrial = dict[int, list[Any]]

CLAIMS = "claimed_vs_observed"
"""The score whose details are counted over all trials."""

MODEL, API = "model", "api"
"""Kinds of calls."""


def insert_trials(connection: Connection, run_id: str, results: Sequence[TrialResult]) -> None:
    """Add attempts that have ended, in this order."""
    bodies = Bodies()
    own_scores = [_score_rows(result) for result in results]
    own_calls = [_call_rows(result.wire, bodies) for result in results]
    rows = [
        with_checksum(
            {
                "run_id": run_id,
                **_columns(result),
                "scores_checksum": checksum(score_rows),
                "calls_checksum": checksum(call_rows),
            }
        )
        for result, score_rows, call_rows in zip(results, own_scores, own_calls, strict=True)
    ]
    if not rows:
        return
    trial_ids = connection.scalars(INSERT_TRIALS, rows).all()
    bodies.insert(connection)
    insert(connection, scores, _of_trials(trial_ids, own_scores))
    insert(connection, calls, _of_trials(trial_ids, own_calls))


def _of_trials(trial_ids: Iterable[int], own: Iterable[Rows]) -> Rows:
    return [{**row, "trial_id": trial_id} for trial_id, rows in zip(trial_ids, own, strict=True) for row in rows]


IN_PART = 100
"""Whole trials that are read at once."""

INSERT_TRIALS = trials.insert().returning(trials.c.id, sort_by_parameter_order=True)
"""Adds rows and returns their ids in the rows' order."""


def add_scores(connection: Connection, run_id: str, result: TrialResult, added: Sequence[Score]) -> None:
    """Add scores to an attempt that is there; those of the same name are replaced.

    Raises:
        DataError: the attempt is not there, or damaged.
    """
    key = {
        "framework": result.key.framework,
        "query_id": encode_id(result.key.query_id),
        "repeat": result.key.repeat,
        "attempt": result.attempt,
    }
    row = connection.execute(_select_trials(run_id, key).with_for_update()).one_or_none()
    if row is None:
        raise DataError(f"run {run_id!r} has no such attempt any more; scores are added to attempts that are there")
    _check_row(row)
    own = connection.execute(_scores_of([row.id])).all()
    _check_scores(row, own)
    names = {score.name for score in added}
    kept = [found for score in own if (found := decode_record(Score, score.record)).name not in names]
    rows = _score_rows(result.model_copy(update={"scores": (*kept, *added)}))
    connection.execute(delete(scores).where(scores.c.trial_id == row.id))
    insert(connection, scores, _of_trials([row.id], [rows]))
    scored = result.model_copy(update={"scores": (*kept, *added)})
    numbers = _numbers(scored) if CLAIMS in names else {}
    changed = with_checksum({**row._mapping, **numbers, "scores_checksum": checksum(rows)})
    columns = {name: changed[name] for name in (*numbers, "scores_checksum", "checksum")}
    connection.execute(update(trials).where(trials.c.id == row.id).values(columns))


def each_end(connection: Connection, run_id: str) -> Iterator[AttemptSummary]:
    """Yield the ends of the attempts of a run's trials, in the order in which they were added, read in parts.

    Columns alone are read. They are not checked against the checksum of the row, as reading the trial itself does.
    """
    names = ("framework", "query_id", "repeat", "attempt", "status", "adapter_digest")
    chosen = select(*(trials.c[name] for name in names)).where(trials.c.run_id == run_id).order_by(trials.c.id)
    for part in connection.execute(chosen.execution_options(yield_per=IN_ONE)).partitions():
        for framework, query, repeat, *rest in part:
            yield AttemptSummary(TrialKey(framework=framework, query_id=decode_id(query), repeat=repeat), *rest)


def count_measured(connection: Connection, run_id: str) -> int:
    """Return how many trials of a run have an attempt that was measured."""
    key = (trials.c.framework, trials.c.query_id, trials.c.repeat)
    measured = select(*key).where(trials.c.run_id == run_id, trials.c.status != "not measured").distinct()
    return connection.scalar(select(func.count()).select_from(measured.subquery())) or 0


class RunVersion(NamedTuple):
    """A version of a run: another one whenever its status, its trials or their scores have changed."""

    status: str
    attempts: int
    digest: str


def read_version(connection: Connection, run_id: str) -> RunVersion:
    """Return the version of a run by the checksums of its attempts: no trial itself is read."""
    status = connection.scalar(select(runs.c.status).where(runs.c.run_id == run_id))
    lines = select(trials.c.checksum, trials.c.id).where(trials.c.run_id == run_id)
    found = connection.execute(lines.order_by(trials.c.checksum, trials.c.id)).all()
    digest = hashlib.sha256("\n".join(f"{checksum} {row}" for checksum, row in found).encode())
    return RunVersion(status or "", len(found), digest.hexdigest())


def count_ends(connection: Connection, run_id: str) -> Counter[TrialStatus]:
    """Count the trials of a run that count by how they ended; only trials with several attempts are read."""
    own = trials.c.run_id == run_id
    every = select(trials.c.status, func.count()).where(own).group_by(trials.c.status)
    found = Counter[TrialStatus](dict(connection.execute(every).all()))
    key = [trials.c[name] for name in ("framework", "query_id", "repeat")]
    again = select(*key).where(own, trials.c.attempt > 0).distinct().subquery()
    same = and_(*(column == again.c[column.name] for column in key))
    names = (*key, trials.c.attempt, trials.c.status, trials.c.adapter_digest)
    rows = connection.execute(select(*names).where(own).join(again, same))
    attempts = [AttemptSummary(tuple(row[:3]), *row[3:]) for row in rows]
    found.subtract(one.status for one in attempts)
    found.update(one.status for one in counted_attempts(attempts))
    return found


def has_attempts(connection: Connection, run_id: str) -> bool:
    """Return whether any trial of a run has ended."""
    return connection.scalar(select(trials.c.id).where(trials.c.run_id == run_id).limit(1)) is not None


def each_result(connection: Connection, run_id: str) -> Iterator[TrialResult]:
    """Yield every attempt of the run's trials, complete, in the order in which they were added.

    They are read in parts: those that the caller lets go do not stay in memory.
    """
    every = select(trials.c.id).where(trials.c.run_id == run_id).order_by(trials.c.id)
    return results_of(connection, connection.scalars(every).all())


def results_of(connection: Connection, row_ids: Sequence[int]) -> Iterator[TrialResult]:
    """Yield the attempts of some rows in the order of these, read in parts; rows that are gone are left out."""
    for first in range(0, len(row_ids), IN_PART):
        own = row_ids[first : first + IN_PART]
        chosen = select(trials).where(trials.c.id.in_(list(own)))
        rows, found = _read(connection, chosen)
        model_calls, api_calls = _read_calls(connection, rows, chosen)
        by_id = {row.id: row for row in rows}
        for row in filter(None, map(by_id.get, own)):
            yield _result(row, found[row.id], model_calls[row.id], api_calls[row.id])


def read_exchanges(connection: Connection, row_ids: Sequence[int]) -> list[tuple[dict[str, Any], str, str]]:
    """The JSON of attempts with one request each, its body and its answer's, in this order; no records are made."""
    chosen = select(trials).where(trials.c.id.in_(row_ids))
    own = _group_by_trial(connection.execute(_calls_of(_ids(chosen))).all())
    bodies = _bodies_of(connection, chosen)
    found = {}
    for row in connection.execute(chosen):
        _check_row(row)
        _check_calls(row, own[row.id])
        (call,) = own[row.id]
        found[row.id] = decode(row.record), body_of(bodies, call.request), body_of(bodies, call.response)
    return [found[row_id] for row_id in row_ids]


def read_trials(connection: Connection, run_id: str, **columns: Any) -> list[tuple[int, TrialResult]]:
    """Every attempt of the run's trials with their row ids, without calls, in the order in which they were added.

    Args:
        **columns: only the trials whose columns have these values.
    """
    rows, found = _read(connection, _select_trials(run_id, columns))
    return [(row.id, _result(row, found[row.id], [], [])) for row in rows]


def read_wire(connection: Connection, trial_id: int, wire: WireLog) -> WireLog:
    """The wire log of one attempt, completed by its calls and their bodies."""
    chosen = select(trials).where(trials.c.id == trial_id)
    model_calls, api_calls = _read_calls(connection, connection.execute(chosen).all(), chosen)
    return _with_calls(wire, model_calls[trial_id], api_calls[trial_id])


def check_trial(connection: Connection, row: Row[Any]) -> None:
    """Check that the row of an attempt, its scores and its calls are as they were written.

    Raises:
        DataError: they are not.
    """
    _check_row(row)
    _check_scores(row, connection.execute(_scores_of([row.id])).all())
    _check_calls(row, connection.execute(_calls_of([row.id])).all())


def _select_trials(run_id: str, columns: Mapping[str, Any]) -> Select[Any]:
    chosen = select(trials).where(trials.c.run_id == run_id).order_by(trials.c.id)
    for name, value in columns.items():
        chosen = chosen.where(trials.c[name] == value)
    return chosen


def _read(connection: Connection, chosen: Select[Any]) -> tuple[Sequence[Row[Any]], ByTrial]:
    """The rows of trials and their scores, each checked to be as it was written."""
    rows = connection.execute(chosen).all()
    found = _group_by_trial(connection.execute(_scores_of(_ids(chosen))).all())
    decoded: ByTrial = defaultdict(list)
    for row in rows:
        _check_row(row)
        own = found[row.id]
        _check_scores(row, own)
        decoded[row.id] = [decode_record(Score, score.record) for score in own]
    return rows, decoded


def _ids(chosen: Select[Any]) -> Select[Any]:
    return chosen.with_only_columns(trials.c.id).order_by(None)


def _group_by_trial(rows: Iterable[Row[Any]]) -> ByTrial:
    of_trial: ByTrial = defaultdict(list)
    for row in rows:
        of_trial[row.trial_id].append(row)
    return of_trial


def _check_row(row: Row[Any]) -> None:
    check([row], row.checksum, lambda: f"the record of {_name(row)}")


def _check_scores(row: Row[Any], own: Sequence[Row[Any]]) -> None:
    check(own, row.scores_checksum, lambda: f"the scores of {_name(row)}")


def _check_calls(row: Row[Any], own: Sequence[Row[Any]]) -> None:
    check(own, row.calls_checksum, lambda: f"the calls of {_name(row)}")


def _scores_of(trial_ids: Any) -> Select[Any]:
    return select(scores).where(scores.c.trial_id.in_(trial_ids)).order_by(scores.c.trial_id, scores.c.position)


def _calls_of(trial_ids: Any) -> Select[Any]:
    order = (calls.c.trial_id, calls.c.kind.desc(), calls.c.position)
    return select(calls).where(calls.c.trial_id.in_(trial_ids)).order_by(*order)


def _name(row: Row[Any]) -> str:
    return (
        f"the trial of {row.framework} on query {row.query_id}, repeat {row.repeat}, attempt {row.attempt}, "
        f"in run {row.run_id!r}"
    )


IN_FACTS = ("integrity", "gold_calls")
"""Fields of a result that are in the facts of its row, and not in its record."""


def _columns(result: TrialResult) -> dict[str, Any]:
    outcome, wire = result.outcome, result.wire
    left_out: dict[str, Any] = {"scores": True, "wire": {"model_calls", "api_calls"}, **dict.fromkeys(IN_FACTS, True)}
    return {
        "framework": result.key.framework,
        "query_id": encode_id(result.key.query_id),
        "repeat": result.key.repeat,
        "attempt": result.attempt,
        "status": result.status,
        "failure": outcome.failure.kind if outcome.failure else None,
        "adapter_digest": result.adapter_digest,
        "first": int(outcome.first),
        "wall_time": result.timing.wall,
        "evaluation_time": result.evaluation_time,
        "ended": outcome.started_at.timestamp() + outcome.wall_time,
        "tools": tools_digest(result.selected_tools),
        "absent": ",".join(result.absent),
        **_numbers(result),
        "facts": encode(
            {
                **{name: getattr(result, name) for name in IN_FACTS},
                "finish_reasons": finish_reasons(wire),
                "refused": refusals(wire),
                "lost": [call.reason for call in wire.lost],
                "message": outcome.failure.message if outcome.failure else None,
            }
        ),
        "record": encode(result.model_dump(exclude=left_out)),
    }


def tools_digest(names: Iterable[str]) -> str:
    """Return a digest of the names of the tools on offer; empty for none."""
    text = "\n".join(sorted(names)).encode(errors="backslashreplace")
    return hashlib.blake2b(text, digest_size=8).hexdigest() if text else ""


def _numbers(result: TrialResult) -> dict[str, float | None]:
    """Return the columns ``NUMBERS`` of an attempt."""
    answer, wire = result.outcome.answer, result.wire
    turns, calls = wire.model_calls, wire.api_calls
    used = [turn.usage for turn in turns if turn.usage is not None]
    recorded = [turn for turn in turns if turn.recorded is not None]
    claims = result.score(CLAIMS)
    detail = claims.detail if claims is not None else {}
    observed, claimed = observed_usage(wire), answer.usage if answer is not None else None
    tokens = None if claimed is None or observed is None else (claimed.total_tokens, observed.total_tokens)
    told = answer.model_turns if answer is not None and turns else None
    found: dict[str, float | None] = {
        "requests": len(turns),
        "request_errors": sum(map(failed, turns)),
        "unreported": sum(1 for turn in turns if turn.usage is None and not failed(turn)),
        "prompt_tokens": sum(usage.prompt_tokens for usage in used),
        "completion_tokens": sum(usage.completion_tokens for usage in used),
        "recorded_requests": len(recorded),
        "recorded_tokens": sum(turn.usage.total_tokens for turn in recorded if turn.usage),
        "invalid_calls": sum(1 for turn in turns for call in turn.tool_calls if call.problem is not None),
        "truncated": truncated(wire),
        "text_calls": len(text_calls(wire)),
        "refused": refusals(wire).total(),
        "lost_calls": len(wire.lost),
        "filled": len(wire.filled),
        "api_calls": len(calls),
        "api_errors": sum(1 for call in calls if call.error or call.status != 200),
        "cached_calls": sum(1 for call in calls if call.cached),
        "waited": sum(turn.waited for turn in turns if turn.recorded is None),
        "translated": sum(1 for turn in turns if turn.translated),
        "cost": result.cost,
        **{f"{kind}_claims": len(detail.get(kind, ())) for kind in ("invented", "unreported", "unasked")},
        "claimed_tokens": None if tokens is None else tokens[0],
        "observed_tokens": None if tokens is None else tokens[1],
        "claimed_turns": told,
        "observed_turns": None if told is None else sum(1 for turn in turns if not failed(turn)),
    }
    return {name: None if value is None else float(value) for name, value in found.items()}


def _score_rows(result: TrialResult) -> Rows:
    return [
        {
            "position": place,
            "name": column_text(score.name),
            "value": _column_number(score.value),
            "label": column_text(score.label),
            "bounded": int(score.bounded),
            "quality": int(score.bounded and score.quality),
            "record": encode(vars(score)),  # a copy of its fields would take longer than to write them
        }
        for place, score in enumerate(result.scores)
    ]


def _column_number(value: float | None) -> float | None:
    """A number as any database's column returns it: SQLite has no NaN and no negative zero. The record keeps them."""
    return None if value is None or math.isnan(value) else value + 0.0


def _call_rows(wire: WireLog, bodies: Bodies) -> Rows:
    return [_model_row(call, place, bodies) for place, call in enumerate(wire.model_calls)] + [
        _api_row(call, place, bodies) for place, call in enumerate(wire.api_calls)
    ]


def _model_row(call: ModelCall, place: int, bodies: Bodies) -> dict[str, Any]:
    return _call_row(call, MODEL, place) | {
        "request": bodies.add(call.request),
        "response": bodies.add(call.response),
        "record": encode_record(call, exclude=("request", "response")),
    }


def _api_row(call: ApiCall, place: int, bodies: Bodies) -> dict[str, Any]:
    return _call_row(call, API, place) | {
        "request": None,
        "response": bodies.add(encode(call.response)),
        "record": encode_record(call, exclude=("response",)),
    }


def _call_row(call: ModelCall | ApiCall, kind: str, place: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "position": place,
        "started": _column_number(call.started),
        "duration": _column_number(call.duration),
        "status": call.status,
    }


def _read_calls(connection: Connection, rows: Sequence[Row[Any]], chosen: Select[Any]) -> tuple[ByTrial, ByTrial]:
    """The calls of trials and their bodies, each checked to be as it was written."""
    bodies = _bodies_of(connection, chosen)
    found = _group_by_trial(connection.execute(_calls_of(_ids(chosen))).all())
    model_calls: ByTrial = defaultdict(list)
    api_calls: ByTrial = defaultdict(list)
    for trial in rows:
        own = found[trial.id]
        _check_calls(trial, own)
        model_calls[trial.id] = [_model_call(call, bodies) for call in own if call.kind == MODEL]
        api_calls[trial.id] = [_api_call(call, bodies) for call in own if call.kind == API]
    return model_calls, api_calls


def _bodies_of(connection: Connection, chosen: Select[Any]) -> dict[str, str]:
    of_trials = calls.c.trial_id.in_(_ids(chosen))
    digests = union(select(calls.c.request).where(of_trials), select(calls.c.response).where(of_trials))
    return read_bodies(connection, select(digests.subquery()))


def _model_call(row: Row[Any], bodies: Mapping[str, str]) -> ModelCall:
    request, response = body_of(bodies, row.request), body_of(bodies, row.response)
    return decode_record(ModelCall, row.record, request=request, response=response)


def _api_call(row: Row[Any], bodies: Mapping[str, str]) -> ApiCall:
    return decode_record(ApiCall, row.record, response=decode(body_of(bodies, row.response)))


def _result(row: Row[Any], found: list[Score], model_calls: list[ModelCall], api_calls: list[ApiCall]) -> TrialResult:
    facts = decode(row.facts)
    result = decode_record(TrialResult, row.record, scores=found, **{name: facts[name] for name in IN_FACTS})
    return result.model_copy(update={"wire": _with_calls(result.wire, model_calls, api_calls)})


def _with_calls(wire: WireLog, model_calls: list[ModelCall], api_calls: list[ApiCall]) -> WireLog:
    return wire.model_copy(update={"model_calls": tuple(model_calls), "api_calls": tuple(api_calls)})
