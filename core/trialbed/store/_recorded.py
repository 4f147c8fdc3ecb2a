"""Counts the answers of a run's model that were recorded ones, without reading bodies."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, select

from trialbed.records import Usage
from trialbed.store._rows import decode
from trialbed.store._schema import calls, trials

MODEL = "model"


class RecordedAnswers(NamedTuple):
    """The requests of a framework's trials to the model, over all attempts.

    Attributes:
        recorded: those that got a recorded answer, and ``tokens``, what these answers report.
    """

    requests: int = 0
    recorded: int = 0
    tokens: int = 0


def count_recorded(connection: Connection, run_id: str) -> dict[str, RecordedAnswers]:
    """The counts of each framework that got any recorded answer."""
    of_run = and_(calls.c.trial_id == trials.c.id, trials.c.run_id == run_id, calls.c.kind == MODEL)
    found: dict[str, RecordedAnswers] = {}
    for framework, record in connection.execute(
        select(trials.c.framework, calls.c.record).where(of_run, _is_recorded())
    ):
        call = decode(record)
        if call.get("recorded") is None:  # the words stand in a field of text
            continue
        own = found.get(framework, RecordedAnswers())
        tokens = Usage.model_validate(call["usage"]).total_tokens if call.get("usage") else 0
        found[framework] = own._replace(recorded=own.recorded + 1, tokens=own.tokens + tokens)
    if not found:
        return found
    counted = select(trials.c.framework, func.count()).where(of_run).group_by(trials.c.framework)
    return {
        framework: found[framework]._replace(requests=count)
        for framework, count in connection.execute(counted)
        if framework in found
    }


def _is_recorded() -> ColumnElement[bool]:
    """Records in which the field is there and is not null, as ``encode`` writes them."""
    return and_(calls.c.record.like('%"recorded":%'), calls.c.record.not_like('%"recorded":null%'))
