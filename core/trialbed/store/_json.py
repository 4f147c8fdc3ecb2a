"""Records as JSON text, and back without loss."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from trialbed.errors import DataError
from trialbed.records import Record

R = TypeVar("R", bound=Record)


def encode(value: Any) -> str:
    """JSON as ASCII; keeps NaN, infinities and lone surrogates, which stricter writers refuse or change."""
    return _encoder().encode(value)


def decode(text: str) -> Any:
    """The value that ``encode`` wrote."""
    return json.loads(text)


def encode_record(record: Record, exclude: Collection[str] = ()) -> str:
    """A record's JSON, without the fields that are stored elsewhere."""
    return encode(record.model_dump(exclude=set(exclude)))


def encode_whole(records: Sequence[Record]) -> list[str]:
    """The JSON of records, by pydantic's own writer where that loses nothing: it takes a fraction of the time.

    It writes numbers that are not finite as null, and refuses lone surrogates. What it wrote is read back at once for
    all; only where that differs, or a record holds others, each is looked at.
    """
    try:
        texts = [record.model_dump_json() for record in records]
        if from_json(f"[{','.join(texts)}]") == [vars(record) for record in records]:
            return texts
    except ValueError:
        pass
    return [_encode_one(record) for record in records]


def _encode_one(record: Record) -> str:
    try:
        text = record.model_dump_json()
        if type(record).model_validate_json(text) == record:
            return text
    except ValueError:
        pass
    return encode_record(record)


def decode_record(kind: type[R], text: str, **more: Any) -> R:
    """The record of this JSON, with the fields that were stored elsewhere.

    Raises:
        DataError: it does not fit the record: another version of Trialbed wrote it, or it was changed.
    """
    try:
        return kind.model_validate({**json.loads(text), **more})
    except (ValueError, ValidationError) as error:
        raise DataError(
            f"the store holds a {kind.__name__} that this version of Trialbed cannot read: {error}\n"
            "Read it with the version that wrote it, or use another store."
        ) from error


def encode_id(query_id: int | str) -> str:
    """A query's id as text; 5 and "5" differ."""
    return json.dumps(query_id)


def decode_id(text: str) -> int | str:
    """The query id that ``encode_id`` wrote."""
    query_id: int | str = json.loads(text)
    return query_id


def column_text(text: str | None) -> str | None:
    """A text as any database's column can hold it: without NUL and lone surrogates; the record keeps them."""
    return None if text is None else text.replace("\x00", "").encode(errors="backslashreplace").decode()


@lru_cache(maxsize=1)
def _encoder() -> json.JSONEncoder:
    return json.JSONEncoder(default=_plain, separators=(",", ":"))


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value")
