"""Policies where tools are offered and called in words: in DSPy's fields, or in blocks of code."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from trialbed.wire import written_calls
from trialbed_scripted import ModelTurn, ReceivedRequest, ask, call, policy, say
from trialbed_scripted.policies import FieldSpeaker

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


CODE_CALLS = (call("find", id=7), call("refund", **{"from": "me"}))
CODE_TOOLS = "\n\n".join(
    f'def {name}({signature}) -> any:\n    """Does it.\n\n    Args:\n        id: its number\n    """'
    for name, signature in {
        "find": "id: integer, kind: ['string', 'null']",
        "refund": "from: string",
        "look": "",
        "final_answer": "answer: any",
    }.items()
)
SYSTEM = f"You have tools, behaving like regular python functions:\n<code>\n{CODE_TOOLS}\n</code>\nBe brief."
CODE_RESULTS = {"find": '{"code": "kxqzvv 48213"}', "refund": '{"receipt": "R-90817"}', "look": "nothing"}


def asked_in_code(blocks: list[tuple[str, str]]) -> ReceivedRequest:
    """A request as smolagents 1.26.0 writes it."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "New task:\nWhere?"},
    ]
    for said, observed in blocks:
        messages.append({"role": "assistant", "content": f"{said}\nCalling tools:\n[{{'arguments': {said!r}}}]"})
        messages.append({"role": "user", "content": observed})
    return ReceivedRequest(len(blocks), {"model": "m", "messages": messages})


def run(code: str) -> str:
    """Return the words of smolagents about a block: the printed results, or an error."""
    try:
        nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    except SyntaxError as error:
        return f"Call id: call_1\nError:\nCode parsing failed: {error}"
    names = [node.func.id for node in nodes if isinstance(node.func, ast.Name) and node.func.id != "print"]
    if not {*names} <= {*CODE_RESULTS}:
        return "Call id: call_1\nError:\nForbidden function evaluation"
    logs = "\n".join(CODE_RESULTS[name] for name in names)
    return f"Observation:\nExecution logs:\n{logs}\nLast output from code snippet:\nNone"


def played_in_code(name: str) -> list[str]:
    """The blocks of a policy until it ends, at most five."""
    model, blocks = policy(name, *CODE_CALLS), list[tuple[str, str]]()
    while len(blocks) < 5:
        said = model(asked_in_code(blocks)).text or ""
        code = said.partition("<code>\n")[2].partition("\n</code>")[0]
        blocks.append((said, run(code)))
        if code.startswith("final_answer("):
            break
    return [said.partition("<code>\n")[2].partition("\n</code>")[0] for said, _ in blocks]


FIND_LINE, REFUND_LINE = "print(find(id=7))", "print(refund(**{'from': 'me'}))"
UNKNOWN, BROKEN = "print(tool_that_is_not_offered())", 'print(find(**{"id": 7))'
ALL = "final_answer('Here is what I found: kxqzvv 48213; R-90817.')"


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("gold", [FIND_LINE, REFUND_LINE, ALL]),
        ("parallel", [f"{FIND_LINE}\n{REFUND_LINE}", ALL]),
        ("none", ["final_answer('I can answer this without any tool.')"]),
        ("bad-json", [BROKEN, FIND_LINE, REFUND_LINE, ALL]),
        ("unknown-tool", [UNKNOWN, FIND_LINE, REFUND_LINE, ALL]),
        ("loop", [FIND_LINE] * 5),
    ],
)
def test_policies_write_blocks_of_code(name: str, blocks: list[str]) -> None:
    assert played_in_code(name) == blocks


async def test_a_script_is_said_in_blocks() -> None:
    turns = iter([ask(*CODE_CALLS), say("Refunded."), say("")])

    async def take_turn() -> Any:
        return next(turns)

    speaker = FieldSpeaker()
    texts = [(await speaker.say(asked_in_code([]).asked, take_turn))[0].text for _ in range(3)]
    assert [text and text.partition("<code>\n")[2].removesuffix("\n</code>") for text in texts] == [
        f"{FIND_LINE}\n{REFUND_LINE}",
        "final_answer('Refunded.')",
        "",
    ]
