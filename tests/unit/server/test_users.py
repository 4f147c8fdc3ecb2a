"""The rules of the user who answers."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.records import User, WireTurn
from trialbed_server.users import Progress, scripted_reply

BOTH = "My order is 7. My email is ann@shop.example."
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


@pytest.mark.parametrize(
    ("asked", "why", "reply"),
    [
        ("Which order shall I refund?", "asked for order", "My order is 7."),
        ("So that I can go on: for which order would you like a refund?", "asked for order", "My order is 7."),
        ("Would you like to give me your email?", "asked for email", "My email is ann@shop.example."),
        ("Please provide the following:\n- Order number\n- Email", "asked for order, email", BOTH),
        ("I need:\n1. your order\n2. your email address", "asked for order, email", BOTH),
        ("Let me know the details so I can proceed: Order Number, Email.", "asked for order, email", BOTH),
        ("Order number and email, please.", "asked for order, email", BOTH),
        ("Which colour shall I choose?", "does not know", "I don't know that."),
        ("What shall I do with it?", "repeats the goal", "I want a refund for cup 3."),
        ("If I know which, shall I refund it?", "confirms", "Yes, please."),
        ("Shall I refund order 7 now?", "confirms", "Yes, please."),
        ("Shall I refund 25 euros for cup 3?", "confirms", "Yes, please."),
        ("Shall I refund order 12?", "confirms", "Yes, please."),
        ("Shall I refund order number 9?", "corrects order", "No, my order is 7."),
        ("Shall I refund order 17?", "corrects order", "No, my order is 7."),
        ("I can't find the id 8. Is it correct?", "corrects order", "No, my order is 7."),
        ("I will refund order 9. It takes 3 days. Shall I proceed?", "corrects order", "No, my order is 7."),
        ("To confirm:\n- Order: 9\n\nShall I refund it?", "corrects order", "No, my order is 7."),
        ('Shall I refund order "9"?', "corrects order", "No, my order is 7."),
        ("I refund order 9, ok?", "asked for order", "My order is 7."),
        ("Please confirm: refund order 9.", "asked for order", "My order is 7."),
        ("Please confirm: refund order 7.", "confirms", "Yes, please."),
        ("Shall I refund it to bob@shop.example?", "corrects email", "No, my email is ann@shop.example."),
        ("Do you want a voucher or a refund?", "confirms", "A refund, please."),
        ("Shall I refund order 9 or order 7?", "confirms", "Order 7, please."),
        ("Do you want a voucher or insurance?", "declines", "No, thank you."),
    ],
)
def test_a_user_confirms_only_what_it_wants(asked: str, why: str, reply: str) -> None:
    knows = {"order": 7, "email": "ann@shop.example"}
    user = User("I want a refund for cup 3.", knows=knows, says={9: "Sorry, it was order 12."})
    found = scripted_reply(user, [WireTurn(started=0.0, text=user.goal, answer=asked)], OPEN)
    assert (found.why, found.text) == (why, reply)


def test_a_fact_that_the_user_has_corrected_stays_corrected() -> None:
    user = User("I want a refund.", knows={"order": 7}, says={1: "Sorry, the order is 8, not 7."})
    for asked, reply in (
        ("Which order is it then?", "My order is 8."),
        ("Shall I refund order 7?", "No, my order is 8."),
        ("Shall I refund order 8?", "Yes, please."),
    ):
        said = [WireTurn(started=float(at), text=text) for at, text in enumerate((user.goal, user.says["1"]))]
        said[1] = said[1].model_copy(update={"answer": asked})
        assert scripted_reply(user, said, OPEN).text == reply


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("Which id shall I refund?", "My id is 7."),
        ("So I refund order 9, OK?", "No, my id is 7."),
        ("Shall I refund order 9 for you?", "No, my id is 7."),
        ("It arrived in week 12. Shall I refund order 7?", "Yes, please."),
        ("It arrived in week 12. Shall I refund it within 3 days?", "Yes, please."),
    ],
)
def test_an_id_without_a_noun_is_the_number_of_anything(asked: str, reply: str) -> None:
    said = WireTurn(started=0.0, text="I want a refund.", answer=asked)
    assert scripted_reply(User("I want a refund.", knows={"id": 7}), [said], OPEN).text == reply


def test_a_reply_to_the_number_of_an_answer_comes_before_one_to_its_word() -> None:
    user = User("I want a refund.", says={"order": "I have a few.", 1: "Sorry, it is a cup."})
    said = [WireTurn(started=0.0, text="I want a refund.", answer="Which order?")]
    replies = [scripted_reply(user, said, OPEN)]
    said.append(WireTurn(started=1.0, text="Sorry, it is a cup.", answer="And the order?"))
    replies.append(scripted_reply(user, said, OPEN))
    assert [reply.why for reply in replies] == ["correction", "reacts to order"]
