"""The rules of the user who answers."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.records import User, WireTurn
from trialbed_server.users import Progress, scripted_reply

OPEN = Progress(is_known=True, reached=False, acted=False)


@pytest.mark.parametrize(
    ("knows", "asked", "reply"),
    [
        ({"order": 7}, "Which order do you mean?", "My order is 7."),
        ({"orderNumber": 7}, "Please tell me the order number.", "My order number is 7."),
        ({"mail": "a@b.example"}, "Which mail address do you use?", "My mail is a@b.example."),
        ({"email": "a@b.example"}, "What is your e-mail address?", "My email is a@b.example."),
        ({"Straße": "Ring 1"}, "Welche Straße?", "My straße is Ring 1."),
        ({"订单": 7}, "你的订单是什么\uff1f", "My 订单 is 7."),
        ({"order": 7}, "I reordered it. Anything new?", "I don't know that."),
    ],
)
def test_a_fact_is_told_where_it_is_asked_for(knows: dict[str, Any], asked: str, reply: str) -> None:
    said = WireTurn(started=0.0, text="I want a refund.", answer=asked)
    assert scripted_reply(User(goal="I want a refund.", knows=knows), [said], OPEN).text == reply


def test_a_reply_to_the_number_of_an_answer_comes_before_one_to_its_word() -> None:
    user = User("I want a refund.", says={"order": "I have a few.", 1: "Sorry, it is a cup."})
    said = [WireTurn(started=0.0, text="I want a refund.", answer="Which order?")]
    replies = [scripted_reply(user, said, OPEN)]
    said.append(WireTurn(started=1.0, text="Sorry, it is a cup.", answer="And the order?"))
    replies.append(scripted_reply(user, said, OPEN))
    assert [reply.why for reply in replies] == ["correction", "reacts to order"]
