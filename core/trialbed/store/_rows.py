"""Convert records to rows and back, with their JSON and the statements that insert them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json, to_json
from sqlalchemy import Connection, Dialect, Table

from trialbed.errors import DataError
from trialbed.records import Record

R = TypeVar("R", bound=Record)

IN_ONE = 500
"""Rows that one statement names or reads."""


def encode(value: Any) -> str:
    """JSON as ASCII; keeps NaN, infinities and lone surrogates, which stricter writers refuse or change."""
    try:
        text = to_json(value, inf_nan_mode="constants")  # several times as fast, but in UTF-8
    except ValueError:
        return _ENCODER.encode(value)
    return text.decode() if text.isascii() else _ENCODER.encode(value)


def decode(text: str) -> Any:
    """Return the value that ``encode`` wrote."""
    try:
        return from_json(text, cache_strings="keys")  # most values differ, and looking them up takes time
    except ValueError:
        return json.loads(text)


def decode_record(kind: type[R], text: str, **more: Any) -> R:
    """Return the record of this JSON, with the fields that were stored elsewhere.

    Raises:
        DataError: it does not fit the record: another version of Trialbed wrote it, or it was changed.
    """
    try:
        return kind.model_validate({**decode(text), **more})
    except (ValueError, ValidationError) as error:
        raise DataError(
            f"the store holds a {kind.__name__} that this version of Trialbed cannot read: {error}\n"
            "Read it with the version that wrote it, or use another store."
        ) from error


def encode_id(query_id: int | str, most: int | None = None) -> str:
    """Return a query's id as JSON text, which distinguishes 5 from "5".

    The number of tools on offer is added if it differs from the run's.
    """
    return json.dumps(query_id if most is None else [query_id, most])


@lru_cache(maxsize=256)  # the names of scores, above all
def column_text(text: str | None) -> str | None:
    """Return a text that any database's column can hold, without NUL and lone surrogates; the record keeps them."""
    return None if text is None else text.replace("\x00", "").encode(errors="backslashreplace").decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.model_dump()
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"))


Rows = list[dict[str, Any]]


def insert(connection: Connection, table: Table, rows: Rows, *, only_new: bool = False) -> bool:
    """Insert rows with a value for every column; return whether all are known to be stored now.

    Args:
        only_new: keep the existing row if its key exists already.
    """
    if not rows:
        return True
    # SQLAlchemy would go through every value of every row, which takes longer than to insert them.
    statement, order = _statement(connection.dialect, table, only_new)
    given = rows if order is None else list(map(itemgetter(*order), rows))
    return connection.exec_driver_sql(statement, given).rowcount == len(rows)


@lru_cache(maxsize=16)
def _statement(dialect: Dialect, table: Table, only_new: bool) -> tuple[str, Sequence[str] | None]:
    """Return the driver's statement and the columns in parameter order, or None if parameters have names."""
    compiled: Any = table.insert().compile(dialect=dialect)
    # SQLite and PostgreSQL have the same clause.
    return f"{compiled.string}{' ON CONFLICT DO NOTHING' if only_new else ''}", compiled.positiontup


class TrialNumbers(NamedTuple):
    """Numbers of a trial that are counted when it is stored, each in a column; None if a number is not known."""

    requests: int  # requests to the model
    request_errors: int  # failed ones
    unreported: int  # answers of the model without a report of their tokens
    prompt_tokens: int
    completion_tokens: int
    recorded_requests: int  # requests that got a recorded answer
    recorded_tokens: int  # as these answers report them
    invalid_calls: int  # calls that the model sent and that cannot be made
    truncated: int  # answers of the model that were cut at a limit of tokens
    text_calls: int  # calls that the model wrote as text
    refused: int  # requests past a limit of the trial
    lost_calls: int  # calls that the framework's offer made impossible
    filled: int  # optional arguments that had to be made up
    api_calls: int
    api_errors: int
    cached_calls: int
    waited: float  # seconds spent waiting for the endpoint, or repeating requests
    translated: int  # requests that the endpoint was asked in another dialect
    cost: float | None  # US dollars
    invented_claims: int  # calls that the agent claims and never made
    unreported_claims: int  # calls that it made and does not claim
    unasked_claims: int  # calls that no answer of the model asked for
    claimed_tokens: float | None = None
    observed_tokens: float | None = None
    claimed_turns: float | None = None
    observed_turns: float | None = None
