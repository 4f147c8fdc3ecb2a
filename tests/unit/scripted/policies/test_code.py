"""Policies where tools are Python functions and calls stand in blocks of code, as smolagents' CodeAgent asks for."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from trialbed.wire import written_calls
from trialbed_scripted import ReceivedRequest, ask, call, policy, say
from trialbed_scripted.policies import FieldSpeaker, in_calls

CALLS = (call("find", id=7), call("refund", **{"from": "me"}))
TOOLS = "\n\n".join(
    f'def {name}({signature}) -> any:\n    """Does it.\n\n    Args:\n        id: its number\n    """'
    for name, signature in {
        "find": "id: integer, kind: ['string', 'null']",
        "refund": "from: string",
        "look": "",
        "final_answer": "answer: any",
    }.items()
)
SYSTEM = f"You have tools, behaving like regular python functions:\n<code>\n{TOOLS}\n</code>\nBe brief."
RESULTS = {"find": '{"code": "kxqzvv 48213"}', "refund": '{"receipt": "R-90817"}', "look": "nothing"}


def asked(blocks: list[tuple[str, str]]) -> ReceivedRequest:
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
    if not {*names} <= {*RESULTS}:
        return "Call id: call_1\nError:\nForbidden function evaluation"
    logs = "\n".join(RESULTS[name] for name in names)
    return f"Observation:\nExecution logs:\n{logs}\nLast output from code snippet:\nNone"


def played(name: str) -> list[str]:
    """The blocks of a policy until it ends, at most five."""
    model, blocks = policy(name, *CALLS), list[tuple[str, str]]()
    while len(blocks) < 5:
        said = model(asked(blocks)).text or ""
        code = said.partition("<code>\n")[2].partition("\n</code>")[0]
        blocks.append((said, run(code)))
        if code.startswith("final_answer("):
            break
    return [said.partition("<code>\n")[2].partition("\n</code>")[0] for said, _ in blocks]


FIND, REFUND = "print(find(id=7))", "print(refund(**{'from': 'me'}))"
UNKNOWN, BROKEN = "print(tool_that_is_not_offered())", 'print(find(**{"id": 7))'
ALL = "final_answer('Here is what I found: kxqzvv 48213; R-90817.')"


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("gold", [FIND, REFUND, ALL]),
        ("parallel", [f"{FIND}\n{REFUND}", ALL]),
        ("none", ["final_answer('I can answer this without any tool.')"]),
        ("bad-json", [BROKEN, FIND, REFUND, ALL]),
        ("unknown-tool", [UNKNOWN, FIND, REFUND, ALL]),
        ("loop", [FIND] * 5),
    ],
)
def test_policies_write_blocks_of_code(name: str, blocks: list[str]) -> None:
    assert played(name) == blocks


def test_calls_in_blocks_are_read_as_those_of_the_tools() -> None:
    said = policy("parallel", *CALLS)(asked([])).text or ""
    assert [(made.name, made.arguments, made.is_made) for made in written_calls(said, dict.fromkeys(RESULTS))] == [
        ("find", '{"id": 7}', True),
        ("refund", '{"from": "me"}', True),
    ]


def test_a_request_with_blocks_is_read_with_its_tools_calls_and_results() -> None:
    both = f"Thought: both.\n<code>\n{FIND}\n{REFUND}\n</code>"
    read = in_calls(asked([(both, run(f"{FIND}\n{REFUND}")), (f"<code>\n{BROKEN}\n</code>", run(BROKEN))]).asked)
    assert [(tool.name, list(tool.parameters["properties"]), tool.description) for tool in read.tools] == [
        ("find", ["id", "kind"], "Does it."),
        ("refund", ["from"], "Does it."),
        ("look", [], "Does it."),
    ]
    roles = [message.role for message in read.messages]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]
    first, second, third = (message for message in read.messages if message.role == "tool")
    assert (first.content, second.content) == (RESULTS["find"], RESULTS["refund"])
    assert (first.is_error, third.is_error) == (False, True)
    assert [made.arguments for made in read.messages[2].calls] == ['{"id": 7}', '{"from": "me"}']


async def test_a_script_is_said_in_blocks() -> None:
    turns = iter([ask(*CALLS), say("Refunded."), say("")])

    async def take_turn() -> Any:
        return next(turns)

    speaker = FieldSpeaker()
    texts = [(await speaker.say(asked([]).asked, take_turn))[0].text for _ in range(3)]
    assert [text and text.partition("<code>\n")[2].removesuffix("\n</code>") for text in texts] == [
        f"{FIND}\n{REFUND}",
        "final_answer('Refunded.')",
        "",
    ]
