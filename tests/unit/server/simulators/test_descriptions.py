"""Replies of models that simulate Apis."""

from __future__ import annotations

import pytest
from support.cases import for_each

from trialbed.model_access import Unreadable
from trialbed_server.simulators.llm import read_simulation, read_truncated


@for_each(
    "reply",
    [
        '{"error": "", "response": {"a": 1}}',
        '```json\n{"error": "", "response": {"a": 1}}\n```',
        'Here: {"error": "", "response": {"a": 1}} as asked.',
    ],
)
def test_a_reply_is_read_among_words(reply: str) -> None:
    assert read_simulation(reply).response == {"a": 1}


@for_each(
    "reply",
    [
        "",
        "[]",
        '{"response": 1}',
        '{"error": "", "response": ""}',
        '{"error": "", "response": {}}',
        '{"error": null, "response": 1}',
        '{"error": "", "response": NaN}',
        '{"error": "", "response": "cut',
    ],
)
def test_what_says_nothing_is_no_answer(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_simulation(reply)


def test_a_reply_that_breaks_off_is_used_as_far_as_it_goes() -> None:
    found = read_truncated('{"error": "", "response": "It is \\"warm\\"\\nand then')
    assert (found.error, found.response) == ("", 'It is "warm"\nand then')
    assert read_truncated('{"mechanism_of_the_api": "x", "error": "", "response": [1]}').response == [1]
    with pytest.raises(Unreadable):
        read_truncated('{"error": "", "respon')


def test_an_error_of_the_api_is_one() -> None:
    assert read_simulation('{"error": "no such city", "response": ""}').error == "no such city"
