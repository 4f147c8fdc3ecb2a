"""Every policy and every fault, in each dialect as in chat completions."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.wire import ChatClient, ModelMessage, OfferedTool, Reading
from trialbed.wire.dialects import CHAT, PATHS, dialect
from trialbed_scripted import FAULTS, POLICIES, call, policy, script, serve
from trialbed_scripted.faults import EDITS

OTHERS = sorted({*PATHS.values()} - {CHAT})
OWN: dict[tuple[str, str], Any] = {
    # A complete response does not say why it is complete.
    ("responses", "calls_with_stop"): ("tool_calls", "tool_calls", None),
    # Its last event, which says that it is complete, is all that ends a stream.
    ("responses", "no_done"): ("protocol_error", None, "cut_stream"),
    ("responses", "null_message"): ("protocol_error", "stop", "null_message"),
}
"""Dialect, fault -> outcome, finish reason and problem, where they are not those of chat completions."""

HALF = frozenset(("cut_stream", "error_event", "malformed_event"))
FLAWED = frozenset(name for name, kind in FAULTS.items() if kind.edits)
TOOLS = [
    OfferedTool(name, "Finds.", {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})
    for name in ("find", "open")
]
CALLS = (call("find", id=7), call("open", id=8))
TURNS = [
    ModelMessage(role="system", content="Be brief."),
    ModelMessage(role="user", content="Where?"),
    ModelMessage(role="assistant", calls=(call("find", {"id": 7}, "call_1"),)),
    ModelMessage(role="tool", content='{"place": "kxqzvv"}', call_id="call_1"),
]


async def ask(model: Any, spoken: str, messages: list[ModelMessage], *, stream: bool) -> Reading:
    written = dialect(spoken).write_request("m", messages, {"stream": stream, "max_tokens": 500}, TOOLS)
    async with ChatClient(model.url, spoken=spoken, attempts=1, timeout=5) as client:
        return await client.complete(written)


def seen(reading: Reading) -> Any:
    """What an answer says, if it came whole."""
    calls = [(made.name, made.arguments) for made in reading.answer.calls]
    problem = reading.problem.kind if reading.problem else None
    said = (reading.answer.text, calls, reading.answer.reasoning)
    return reading.outcome, reading.finish_reason, problem, None if problem in HALF else said


@pytest.mark.parametrize("name", POLICIES)
async def test_every_policy_does_the_same(name: str) -> None:
    with serve(policy(name, *CALLS)) as model:
        for stream in (False, True):
            for length in (2, 4):
                first = await ask(model, CHAT, TURNS[:length], stream=stream)
                for spoken in OTHERS:
                    second = await ask(model, spoken, TURNS[:length], stream=stream)
                    assert seen(second) == seen(first), spoken


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - {"silent", "slow"}))
async def test_every_fault_does_the_same(name: str) -> None:
    for stream in (False, True):
        with serve(script(CALLS[0]), faults=name) as model:
            first = await ask(model, CHAT, TURNS[:2], stream=stream)
        for spoken in OTHERS:
            if name in FLAWED - EDITS[spoken].keys():
                continue  # the dialect does not have it
            with serve(script(CALLS[0]), faults=name) as model:
                second = await ask(model, spoken, TURNS[:2], stream=stream)
            own = OWN.get((spoken, name))
            if own is not None and (stream or name != "no_done"):
                assert seen(second)[:3] == own
            else:
                assert seen(second) == seen(first), spoken
