"""A vendor's decisions, turned round and drawn."""

from __future__ import annotations

import json
from typing import Any

from trialbed_scripted import ReceivedRequest
from trialbed_scripted.vendor import SimulatedVendor

TOOL = {"type": "function", "function": {"name": "look"}}


def asked(number: int, attempt: int) -> ReceivedRequest:
    document = {"messages": [{"role": "user", "content": f"q {number}"}], "tools": [TOOL]}
    return ReceivedRequest(number, document, json.dumps(document).encode(), attempt=attempt)


def test_decisions_are_turned_round_for_all_or_for_some() -> None:
    requests = [asked(number, attempt) for number in range(100) for attempt in range(2)]
    usual = [bool(SimulatedVendor()(request).calls) for request in requests]

    def turned(**answers: Any) -> int:
        vendor = SimulatedVendor(answers)
        return sum(bool(vendor(request).calls) is not calls for request, calls in zip(requests, usual, strict=True))

    assert (turned(), turned(invert=True)) == (0, 200)
    assert 20 < turned(flips=0.25) < 80
    assert 120 < turned(flips=0.25, invert=True) < 180


def test_each_answer_has_an_id_of_its_own() -> None:
    assert len({SimulatedVendor()(asked(number, attempt)).id for number in range(3) for attempt in range(2)}) == 6
