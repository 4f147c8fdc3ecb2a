"""The fields of the records that plugins are given and return."""

from __future__ import annotations

from parts._markdown import escaped, table
from trialbed.record_fields import MADE_ANEW, DescribedField, DescribedRecord, describe_records


def record_fields() -> str:
    """Every record with its fields, by name."""
    return "\n\n".join(map(_record, describe_records().values()))


def _record(record: DescribedRecord) -> str:
    rows = [(f"`{field.name}`", f"`{field.type}`", _default(field), field.meaning) for field in record.fields]
    shown = table(("field", "type", "default", "meaning"), [tuple(map(escaped, row)) for row in rows])
    return "\n".join([f"### {record.name}", "", escaped(record.meaning), "", shown])


def _default(field: DescribedField) -> str:
    return field.default if field.default == MADE_ANEW else f"`{field.default}`" if field.default is not None else ""
