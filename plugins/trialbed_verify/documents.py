"""Writes records as the JSON objects that users read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def as_document(record: Any) -> Any:
    """Return a record as JSON values: its fields by name, unless it has an ``as_json`` of its own.

    Estimates become their value with the ends of their interval; tuples become lists.
    """
    if hasattr(record, "as_json"):
        return record.as_json()
    if is_dataclass(record):
        return fields_as_document(record)
    if isinstance(record, Mapping):
        return {name: as_document(value) for name, value in record.items()}
    if isinstance(record, list | tuple):
        return [as_document(value) for value in record]
    return record


def fields_as_document(record: Any) -> dict[str, Any]:
    """Return the fields of a record; ``key`` in a field's metadata is its name in the document."""
    return {field.metadata.get("key", field.name): as_document(getattr(record, field.name)) for field in fields(record)}
