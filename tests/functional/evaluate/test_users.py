"""Tasks with a user who answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.bench import bare_environment, bench_in
from support.evaluation import trials

from trialbed import Expect, Task, UsageError, User, call, evaluate, open_store
from trialbed.cli import main
from trialbed.errors import NothingMeasured
from trialbed_pages.report import run_report
from trialbed_scripted import ModelTurn, ask, say, serve
from trialbed_scripted import call as sent

pytestmark = pytest.mark.slow(15)

ORDERS = {7: "teapot", 8: "cup"}


class Shop:
    """A shop."""

    def __init__(self) -> None:
        self.refunded: list[int] = []

    def find_order(self, order: int, email: str) -> dict[str, Any]:
        """Find an order of a customer."""
        return {"order": order, "email": email, "item": ORDERS[order], "price": "25 euros"}

    def refund(self, order: int) -> str:
        """Refund an order."""
        self.refunded.append(order)
        return "done"

    def state(self) -> dict[str, Any]:
        """The state."""
        return {"refunded": self.refunded}


GOAL = "I want my money back for the teapot."
USER = User(goal=GOAL, knows={"order": 7, "email": "ann@shop.example"})
CALLS = [call("find_order", order=7, email="ann@shop.example"), call("refund", order=7)]
TASK = Task(id="refund", user=USER, tools=[Shop], expect=Expect("25 euros", calls=CALLS, state={"refunded": [7]}))

TOOLS = '''
from trialbed import tool


@tool
def refund(order: int) -> str:
    """Refund an order."""
    return "done"
'''


def reasons(trial: Any) -> list[str]:
    """Return why each message was written, and why the conversation ended."""
    return [*(turn.why for turn in trial.wire.turns), f"end: {trial.wire.turns[-1].end}"]


ASKED = ["goal", "asked for order", "asked for email", "end: goal reached"]
NOT_UNDERSTOOD = ["goal", "repeats the goal", "end: not understood"]
UNMET = [*ASKED[:3], "waits for the rest", "repeats the goal", "end: not understood"]
POLICIES = {
    "gold": (1, ASKED),
    "parallel": (1, ASKED),
    "extra": (1, ASKED),
    "none": (0, NOT_UNDERSTOOD),
    "wrong-args": (0, NOT_UNDERSTOOD),
    "partial": (0, UNMET),
    "giveup": (0, [*ASKED[:3], *["waits for the rest"] * 2, *UNMET[-2:]]),
}


@pytest.mark.parametrize(("policy", "expected"), POLICIES.items())
def test_a_scripted_model_and_a_scripted_user_have_known_conversations(
    policy: str, expected: tuple[int, list[str]]
) -> None:
    evaluate(["reference", "langgraph"], [TASK], model=f"scripted:{policy}", progress=False)
    found = trials()
    assert len(found) == 2
    for trial in found:
        assert (trial.score("sopr_score").value, reasons(trial)) == expected


def test_what_the_user_knows_is_told_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("reference", [TASK], model="scripted:partial", progress=False)
    (trial,) = trials()
    said = [(turn.text, turn.answer) for turn in trial.wire.turns]
    assert said[0] == (GOAL, "Before I can use find_order: which order do you mean?")
    assert said[1] == ("My order is 7.", "Before I can use find_order: which email do you mean?")
    assert "ann@shop.example" not in trial.wire.model_calls[1].request
    assert trial.timing.waiting > 0
    assert main(["show", "latest", "reference/refund"]) == 0
    shown = capsys.readouterr().out
    assert f"Conversation\n  user (goal): {GOAL}\n  agent: Before I can use find_order" in shown
    assert "  user (asked for order): My order is 7.\n" in shown
    assert "  end: not understood\n" in shown
    assert shown.count("messages kept;") == 4
    assert " reordered;" not in shown
    with open_store() as store:
        page = run_report(store.run("latest"))
    assert "<b>user</b> (asked for order)" in page
    assert "End: not understood" in page


KNOWN = {"order_number": 7, "email": "ann@shop.example"}
ANSWERS = {
    "What is your order number?": ("asked for order_number", "My order number is 7."),
    "I found nothing.\nPlease provide your Order-ID.": ("asked for order_number", "My order number is 7."),
    "I need your e-mail address, and which order is it?": (
        "asked for order_number, email",
        "My order number is 7. My email is ann@shop.example.",
    ),
    "Could you confirm your email?": ("asked for email", "My email is ann@shop.example."),
    "I looked at your order.": ("repeats the goal", ""),
    "How can I help you today?": ("repeats the goal", ""),
    "What is your date of birth?": ("does not know", "I don't know that."),
    "Your order is a teapot. Shall I refund it now?": ("confirms", "Yes, please."),
    "Is your order number 7, correct?": ("confirms", "Yes, please."),
    "I will refund order 7. Do you confirm?": ("confirms", "Yes, please."),
    "Would you like to subscribe to our newsletter?": ("declines", "No, thank you."),
    "Shall I add gift wrapping to order 7?": ("declines", "No, thank you."),
    "We have insurance, too.": ("reacts to insurance", "No insurance!"),
    "?" * 200_000: ("does not know", "I don't know that."),
}


def test_a_scripted_user_follows_rules() -> None:
    def reply(query: str, history: list[dict[str, str]]) -> str:
        first = history[0]["content"] if history else query
        return [*ANSWERS][int(first.split()[-1])]

    tasks = [
        Task(
            id=place,
            expect="never said",
            user=User(
                goal=f"Refund the teapot, case {place}",
                knows=KNOWN,
                says={"insurance": "No insurance!"},
                most_messages=2,
            ),
        )
        for place, _ in enumerate(ANSWERS)
    ]
    evaluate(reply, tasks, model="scripted:gold", progress=False)
    found = {trial.key.query_id: trial for trial in trials()}
    for place, (answer, (why, text)) in enumerate(ANSWERS.items()):
        turns = found[place].wire.turns
        assert (turns[1].why, turns[1].text) == (why, text or f"Refund the teapot, case {place}"), answer[:100]
        assert [turn.end for turn in turns] == ["", "2 messages"] if why != "repeats the goal" else True


def test_a_correction_is_said_after_its_answer_and_the_model_has_to_follow_it() -> None:
    user = User(goal="I want my money back.", knows={"order": 7}, says={2: "Sorry, I meant order 8."})
    calls = [call("refund", order=7), call("refund", order=8)]
    evaluate(
        "reference",
        [Task(user=user, tools=[Shop], calls=calls, final_state={"refunded": [7, 8]})],
        model="scripted:gold",
        progress=False,
    )
    (trial,) = trials()
    assert reasons(trial) == ["goal", "asked for order", "correction", "end: goal reached"]
    assert trial.score("sopr_score").value == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"knows": {"": 7}}, "knows: '' is not the name of a fact"),
        ({"knows": {"order": [float("nan")]}}, r"knows.order: \[nan\] cannot be said"),
        ({"says": {0: "Hi"}}, "0 is not the number of an answer"),
        ({"says": {"-1": "Hi"}}, "says.-1: with most_messages 10, the user replies to the answers 1 to 9"),
        ({"says": {2: "Hi"}, "most_messages": 2}, "says.2: with most_messages 2"),
        ({"says": {"order": " "}}, "says.order: the reply is blank"),
    ],
)
def test_a_user_who_could_not_say_something_is_refused(given: dict[str, Any], says: str) -> None:
    assert User("Hi", says={9: "Bye", "12.5": "Too much"}) == User(goal="Hi", says={"9": "Bye", "12.5": "Too much"})
    with pytest.raises(ValidationError, match=says):
        User("Hi", **given)


def test_a_model_plays_the_user_and_is_counted_apart() -> None:
    task = Task(
        id="refund",
        user=USER.model_copy(update={"kind": "model", "instructions": "You are in a hurry."}),
        tools=[Shop],
        expect=TASK.expect,
    )
    with pytest.raises(UsageError, match="task refund: a model plays its user; name it with --user-model"):
        evaluate("reference", [task], model="scripted:gold", progress=False)
    prompts = []

    def play(request: Any) -> ModelTurn:
        """Tell all that it knows, and agree and end at once, as models do."""
        prompts.append(request.document["messages"][1]["content"])
        return say(json.dumps({"message": "Order 7, ann@shop.example. Bye!", "done": True}))

    with serve(play) as server:
        playing = {"user_model": "customer", "base_url": server.url, "model": "scripted:gold", "progress": False}
        first = evaluate("reference", [task], **playing)
        again = evaluate("reference", [task], **playing)
    assert len(prompts) == 1
    assert f"Your goal:\n{GOAL}\n\nYour instructions:\nYou are in a hurry.\n\nFacts" in prompts[0]
    assert f"You: {GOAL}\nAssistant: Before I can use find_order: which order do you mean?" in prompts[0]
    for report, (requests, cached) in ((first, (1, 0)), (again, (0, 1))):
        (trial,) = report.trials()
        assert reasons(trial) == ["goal", "closes the conversation", "end: the user has finished"]
        assert trial.score("sopr_score").value == 1
        (use,) = report.run.helpers
        assert (use.role, use.model, use.requests, use.cached) == ("user", "customer", requests, cached)


def test_a_trial_whose_user_has_no_message_is_not_measured() -> None:
    task = Task(id="refund", user=USER.model_copy(update={"kind": "model"}), tools=[Shop], expect=TASK.expect)
    with (
        serve(lambda _request: say("I am sorry")) as server,
        pytest.raises(NothingMeasured, match=r"the model's endpoint: the user's model gave no message"),
    ):
        evaluate("reference", [task], user_model="customer", base_url=server.url, model="scripted:gold", progress=False)


CONVERSATIONS = """
tools: desk.py
tasks:
  - id: turns
    turns:
      - Hello, it's about order 7.
      - user: Refund it, please.
        expect: {calls: [refund: {order: 7}]}
  - id: rules
    user: {goal: I want my money back., knows: {order: 7}, says: {2: "Sorry, I meant order 8."}}
    expect: {calls: [refund: {order: 7}, refund: {order: 8}]}
  - id: model
    user: {goal: I want my money back., knows: {order: 7}, kind: model}
    expect: {calls: [refund: {order: 7}]}
"""


def test_conversations_are_recorded_replayed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(TOOLS)
    (tmp_path / "tasks.yaml").write_text(CONVERSATIONS)
    bench = bench_in(tmp_path, bare_environment(tmp_path, OPENAI_API_KEY="k"))

    def conversations(*arguments: object) -> list[Any]:
        """Return the texts of a run, and its scores."""
        bench("run", "-d", "tasks.yaml", "-f", "reference", "-f", "langgraph", "--judge", "rule", *arguments)
        with open_store() as store:
            found = store.run("latest").trials()
        assert all(trial.score("sopr_score").value == 1 for trial in found)
        return sorted(
            [str(trial.key), *((turn.text, turn.why, turn.answer) for turn in trial.wire.turns)] for trial in found
        )

    with serve(lambda _request: say(json.dumps({"message": "It's order 7.", "done": True}))) as server:
        user = ("--user-model", f"customer@{server.url}")
        recorded = conversations("-m", "scripted:gold", *user)
    # The endpoint is gone: what the user's model said is in the cache of replies.
    bench("record", "latest", "-o", "a.cassette")
    assert conversations("-m", "replay:a.cassette", *user) == recorded
    assert bench("replay", "latest").out.count("3 of 3 trials follow the recording to the end") == 2

    def refund(request: Any) -> ModelTurn:
        """Refund at the second message of the user."""
        roles = [message["role"] for message in request.document["messages"]]
        return ask(sent("refund", order=7)) if roles.count("user") == 2 and roles[-1] == "user" else say("Done.")

    with serve(refund) as server:
        asked = ("--query-id", "turns", "-m", f"gold@{server.url}", "--model-cache", "m.db")
        first = conversations(*asked)
    assert conversations(*asked) == first


def test_the_conversations_of_the_desk_have_known_scores() -> None:
    solved = {"gold": 12, "none": 0, "partial": 0, "reordered": 11}
    report = evaluate("reference", "desk", model=[f"scripted:{policy}" for policy in solved], progress=False)
    found = dict.fromkeys(solved, 0.0)
    for trial in report.trials():
        found[trial.key.framework.partition("scripted:")[2]] += trial.score("sopr_score").value
        assert not trial.integrity
    assert found == solved
    with pytest.raises(UsageError, match="the dataset 'desk' has no test set 'till'"):
        evaluate("reference", "desk:till", progress=False)
    longer = evaluate("reference", "desk:long", progress=False).trials()
    assert {(len(trial.wire.turns), trial.score("sopr_score").value) for trial in longer} == {(3, 1), (10, 1), (30, 1)}
