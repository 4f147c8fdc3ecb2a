"""The nearest inputs to one that is not cached."""

from __future__ import annotations

from trialbed_server.virtual.resolver import LIKELY, nearest_inputs


def test_the_nearest_inputs_are_named_best_first() -> None:
    inputs = [f'{{"city":"{name}"}}' for name in ("Rome", "Oslo", "Ooslo", "Lima")]
    assert nearest_inputs('{"city":"Osl"}', inputs) == [inputs[1], inputs[2], inputs[0]]
    assert nearest_inputs("{}", []) == []


def test_the_nearest_of_many_long_inputs_are_found_by_their_beginnings() -> None:
    inputs = [f'{{"n":{number},"text":"{"x" * 100_000}"}}' for number in range(2 * LIKELY)]
    assert nearest_inputs(inputs[7], inputs)[0] == inputs[7]
