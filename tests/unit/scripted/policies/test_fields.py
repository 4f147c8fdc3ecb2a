"""Policies where tools are offered and called in words, in the marked fields of DSPy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.wire import written_calls
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, ask, call, fail, policy, say
from trialbed_scripted.policies import FieldSpeaker, in_calls

CALLS = (call("find", id=7), call("refund", id=7))
STEP = "next_thought", "next_tool_name", "next_tool_args"
NOTES = {
    "next_tool_name": "must exactly match (no extra characters) one of: find; refund; look; finish",
    "next_tool_args": 'must adhere to the JSON schema: {"type": "object", "additionalProperties": true}',
    "price": "must be a single float value",
    "number": "must be a single int value",
    "sure": "must be True or False",
    "kind": "must exactly match (no extra characters) one of: warm; cold",
    "mood": "must exactly match (no extra characters) one of: interesting; True or False; floating",
    "parts": 'must adhere to the JSON schema: {"type": "array", "items": {"type": "string"}}',
}
ARGS = "{'id': {'type': 'integer', 'description': 'the order\\'s \"id\"'}, 'note': {'type': 'string', 'default': ''}}"
TOOLS = "\n".join(
    f"        ({place}) {name}, whose description is <desc>Does it.  All of it.</desc>. It takes arguments {args}."
    for place, (name, args) in enumerate({"find": ARGS, "refund": ARGS, "look": ARGS, "finish": "{}"}.items(), 1)
)


def asked(
    steps: list[tuple[str, str, str]], outputs: tuple[str, ...] = STEP, *, as_json: bool = False
) -> ReceivedRequest:
    """A request as DSPy 3.4.1 writes it."""
    fields = "\n".join(f"{place}. `{name}` (str): " for place, name in enumerate(outputs, 1))
    noted = {
        name: f"{{{name}}}" + (f"        # note: the value you produce {NOTES[name]}" if name in NOTES else "")
        for name in outputs
    }
    if as_json:
        structure = f"Outputs will be a JSON object with the following fields.\n\n{json.dumps(noted, indent=2)}"
    else:
        structure = (
            "\n\n".join(f"[[ ## {name} ## ]]\n{note}" for name, note in noted.items()) + "\n\n[[ ## completed ## ]]"
        )
    system = (
        "Your input fields are:\n1. `question` (str): \n2. `trajectory` (str):\n"
        f"Your output fields are:\n{fields}\n"
        "All interactions will be structured in the following way, with the appropriate values filled in.\n\n"
        f"[[ ## question ## ]]\n{{question}}\n\n{structure}\n"
        f"In adhering to this structure, your objective is: \n        Answer it.\n\n{TOOLS}\n        When providing"
    )
    told = "\n\n".join(
        f"[[ ## thought_{place} ## ]]\nhm\n\n[[ ## tool_name_{place} ## ]]\n{name}\n\n"
        f"[[ ## tool_args_{place} ## ]]\n{args}\n\n[[ ## observation_{place} ## ]]\n{result}"
        for place, (name, args, result) in enumerate(steps)
    )
    user = f"[[ ## question ## ]]\nWhere?\n\n[[ ## trajectory ## ]]\n{told}\n\nRespond with the fields."
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return ReceivedRequest(len(steps), {"model": "m", "messages": messages})


TOLD = ("find", "refund", "look", "finish", "tool_that_is_not_offered")
RESULTS = {"find": '{"code": "kxqzvv 48213"}', "refund": '{"receipt": "R-90817"}', "look": "nothing"}


def played(name: str, *, as_json: bool = False) -> list[tuple[str, Any]]:
    """The steps of a policy until it finishes, with their arguments as text."""
    model, steps = policy(name, *CALLS), []
    while len(steps) < 6:
        said = model(asked(steps, as_json=as_json)).text or ""
        (made,) = written_calls(said, dict.fromkeys(TOLD))
        if made.name == "finish":
            return [(name, args) for name, args, _ in steps]
        steps.append((made.name, made.arguments, RESULTS.get(made.name, "Execution error in it")))
    return [(name, args) for name, args, _ in steps]


FIND, REFUND, LOOK = ("find", '{"id": 7}'), ("refund", '{"id": 7}'), ("look", '{"id": 0}')
RIGHT = {
    "gold": [FIND, REFUND],
    "parallel": [FIND, REFUND],
    "none": [],
    "partial": [FIND],
    "reordered": [REFUND, FIND],
    "unknown-tool": [("tool_that_is_not_offered", "{}"), FIND, REFUND],
    "loop": [FIND] * 6,
    "giveup": [FIND],
}


@pytest.mark.parametrize("as_json", [False, True])
def test_policies_step_by_step(as_json: bool) -> None:
    for name, steps in RIGHT.items():
        assert played(name, as_json=as_json) == steps, name
    assert [name for name, _ in played("extra")] == ["find", "refund", "look"]
    assert played("bad-json") == [("find", '{"id": 7'), FIND, REFUND]
    wrong, *rest = played("retry")
    assert (wrong[0], wrong == FIND, rest) == ("find", False, [FIND, REFUND])
    assert [one == right for one, right in zip(played("wrong-args"), (FIND, REFUND), strict=True)] == [False, False]


STEPS = [
    ("find", '{"id": 7}', RESULTS["find"]),
    ("refund", "{}", "Execution error in refund: 55555"),
    ("finish", "{}", "Completed."),
]


def answered(name: str, *outputs: str, as_json: bool = False) -> ModelTurn:
    return policy(name, *CALLS)(asked(STEPS, ("reasoning", "answer", *outputs), as_json=as_json))


def test_the_answer_stands_in_the_fields_that_are_wanted() -> None:
    found = "Here is what I found: kxqzvv 48213."
    turn = answered("gold", "price", "number", "sure", "kind", "parts")
    values = dict(part.split(" ## ]]\n") for part in (turn.text or "").split("[[ ## ")[1:-1])
    values = {name: value.strip() for name, value in values.items()}
    assert values.pop("reasoning") == values.pop("answer") == found
    assert values == {"price": "48213", "number": "48213", "sure": "True", "kind": "warm", "parts": f'["{found}"]'}
    assert (turn.text or "").endswith("[[ ## completed ## ]]")
    as_json = json.loads(answered("gold", "price", "parts", as_json=True).text or "")
    assert as_json == {"reasoning": found, "answer": found, "price": 48213, "parts": [found]}
    assert "without any tool" in (answered("none").text or "")


@pytest.mark.parametrize("as_json", [False, True])
def test_one_of_several_values_may_have_any_words(as_json: bool) -> None:
    said = answered("gold", "mood", as_json=as_json).text or ""
    assert ("interesting" in said, "floating" in said) == (True, False)


@pytest.mark.parametrize("as_json", [False, True])
def test_half_a_step_is_answered_as_other_fields_are(as_json: bool) -> None:
    said = policy("gold", *CALLS)(asked(STEPS, ("next_thought", "next_tool_name"), as_json=as_json)).text or ""
    assert "next_tool_name" in said
    assert "next_tool_args" not in said


@pytest.mark.parametrize(
    "system", ["", "Your output fields are:\n", "Your input\nYour output fields are:\nAll interactions"]
)
def test_other_requests_are_answered_as_ever(system: str) -> None:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "?"}]
    assert policy("none")(ReceivedRequest(0, {"messages": messages})).text == "I can answer this without any tool."


async def test_a_script_is_said_step_by_step_and_its_text_again_as_the_answer() -> None:
    turns = iter([ask(*CALLS), say("Refunded."), fail(500)])

    async def take_turn() -> ModelTurn | Response:
        return next(turns)

    speaker = FieldSpeaker()
    steps = [asked([]), asked(STEPS[:1]), asked(STEPS[:2]), asked(STEPS[:2], ("reasoning", "answer")), asked([])]
    said = [await speaker.say(request.asked, take_turn) for request in steps]
    assert [turn and (turn.text, [made.name for made in turn.calls]) for _, turn in said] == [
        (None, ["find"]),
        (None, ["refund"]),
        ("Refunded.", []),
        ("Refunded.", []),
        None,
    ]
    texts = [answer.text or "" for answer, _ in said[:4] if isinstance(answer, ModelTurn)]
    assert ["finish" in text for text in texts] == [False, False, True, False]
    assert "Refunded." in texts[3]


def test_a_request_in_words_is_read_with_its_tools_and_calls() -> None:
    read = in_calls(asked(STEPS[:2]).asked)
    assert [tool.name for tool in read.tools] == ["find", "refund", "look"]
    assert [message.role for message in read.messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    plain = ReceivedRequest(0, {"model": "m", "messages": [{"role": "user", "content": "Where?"}]}).asked
    assert in_calls(plain) is plain
