"""What the gold calls of a run's queries were answered, as rows."""

from __future__ import annotations

from sqlalchemy import Connection, Row, select

from trialbed.records import GoldAnswer
from trialbed.store._blobs import Bodies, body_of, read_bodies
from trialbed.store._checksums import check, with_checksum
from trialbed.store._insertion import insert_new
from trialbed.store._json import decode_record, encode_id, encode_record
from trialbed.store._schema import gold_answers


def insert_gold_answer(connection: Connection, run_id: str, answer: GoldAnswer) -> None:
    """Keep what a query's gold calls were answered, unless the run has it already."""
    bodies = Bodies()
    digest = bodies.add(encode_record(answer))
    bodies.insert(connection)
    row = {"run_id": run_id, "query_id": encode_id(answer.query_id), "answer": digest}
    insert_new(connection, gold_answers, [with_checksum(row)])


def read_gold_answers(connection: Connection, run_id: str) -> list[GoldAnswer]:
    """What a run has, in the order of the queries' ids as texts."""
    rows = connection.execute(
        select(gold_answers).where(gold_answers.c.run_id == run_id).order_by(gold_answers.c.query_id)
    ).all()
    for row in rows:
        check_gold_answer(row)
    bodies = read_bodies(connection, select(gold_answers.c.answer).where(gold_answers.c.run_id == run_id))
    return [decode_record(GoldAnswer, body_of(bodies, row.answer)) for row in rows]


def check_gold_answer(row: Row[tuple[str, ...]]) -> None:
    """Check that a row is as it was written.

    Raises:
        DataError: it is not.
    """
    check([row._mapping], row.checksum, f"the gold answer of query {row.query_id} in run {row.run_id!r}")
