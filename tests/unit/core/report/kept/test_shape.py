"""The fields of kept records, by which those of another Trialbed are recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, make_dataclass
from typing import Any

import pytest

from trialbed.report import Summary
from trialbed.report.kept._shape import shape


def record(**fields: Any) -> Any:
    """A type of these fields, which has the same name each time."""
    return make_dataclass("Made", [(name, kind, field(default=None)) for name, kind in fields.items()])


@pytest.mark.parametrize(
    "other", [record(a=int, b=int), record(b=str), record(a=str), record(a=int | None), record()], ids=str
)
def test_records_of_other_fields_have_another_shape_however_deep_they_stand(other: Any) -> None:
    own = record(a=int)
    for around in (lambda kind: kind, lambda kind: tuple[kind, ...], lambda kind: Mapping[str, kind | None]):
        assert shape(around(own)) == shape(around(record(a=int)))
        assert shape(around(own)) != shape(around(other))
        assert shape(record(x=around(own))) != shape(record(x=around(other)))


def test_the_shape_of_a_summary_names_no_address_in_memory() -> None:
    assert " at 0x" not in shape(Summary)
