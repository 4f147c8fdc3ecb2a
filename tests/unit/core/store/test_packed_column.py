"""Columns of numbers that are packed."""

from __future__ import annotations

import math
from array import array

from support.cases import for_each

from trialbed.store import PackedColumn
from trialbed.store._packed_column import PART


def test_a_column_has_the_values_that_were_added() -> None:
    values = array("d", [number / 7 for number in range(2 * PART + 5)])
    column = PackedColumn("d")
    for value in values:
        column.append(value)
    assert column.unpack() == PackedColumn.of(values).unpack() == values
    assert PackedColumn.read("d", column.texts).unpack() == values


@for_each("place", [0, 3, PART - 1, PART, 3 * PART + 2])
def test_places_that_are_left_out_have_the_usual_value(place: int) -> None:
    column = PackedColumn("d", math.nan)
    column.put(place, 2.0)
    column.put(place, 3.0)  # the first stays
    column.fill(place + 3)
    found = column.unpack().tolist()
    assert found[place] == 2.0
    assert len(found) == place + 3
    assert all(map(math.isnan, found[:place] + found[place + 1 :]))


def test_a_column_of_few_numbers_is_small() -> None:
    column = PackedColumn.of(array("d", [1.0, 0.0] * 50_000))
    assert sum(map(len, column.texts)) < 10_000
