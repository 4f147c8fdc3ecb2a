"""Play conversations with an adapter and with the reference loop, and name the breach."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from trialbed.contracts import BaseAgent
from trialbed.drivers import load_driver
from trialbed.texts import number_of
from trialbed_adapter_lab.fuzz._conversation import SLOW, TOOLS, Conversation, DrawnTurn
from trialbed_adapter_lab.harness import (
    BLOCKED,
    INVARIANTS,
    Delay,
    Harness,
    ObservedCall,
    PassingLoop,
    ScriptedTool,
    TrialRecord,
    errs,
    returns,
    tool,
    watchdog,
)
from trialbed_scripted import Line, ask, call


async def play(harness: Harness, conversation: Conversation, expected: TrialRecord) -> list[tuple[str, str]]:
    """Play a conversation; return each invariant that it breaks with the first breach in words.

    If it breaks none, the trial is compared with that of the reference loop; a difference has no invariant.
    """
    record = await _run(harness, conversation)
    found = [(one.name, breach) for one in INVARIANTS if (breach := next(one.breaches(record), ""))]
    other = "" if found else tell_trials_apart(record, expected)
    return [("", other)] if other else found


def play_lines(agent: type[BaseAgent], lines: Iterable[str]) -> Iterator[str]:
    """Play conversations that come as lines of JSON, and yield the breaches of each, as a line of JSON."""
    reference_loop = cast("type[BaseAgent]", load_driver("frameworks", "reference"))
    with (
        asyncio.Runner(loop_factory=PassingLoop) as runner,
        Harness(agent) as harness,
        Harness(reference_loop) as reference,
    ):
        for line in lines:
            conversation = Conversation.model_validate_json(line)
            expected = runner.run(_run(reference, conversation))
            try:
                with watchdog(runner.get_loop(), BLOCKED):
                    found = runner.run(play(harness, conversation, expected))
            except Exception as error:  # noqa: BLE001 - a trial that does not end is a breach, too
                found = [("", f"{type(error).__name__}: {error}")]
            harness.clear()
            reference.clear()
            yield json.dumps(found)


async def _run(harness: Harness, conversation: Conversation) -> TrialRecord:
    settings: Any = conversation.settings
    return await harness.run(
        *map(_line, conversation.turns),
        conversation.answer,
        tools=_tools(conversation),
        max_steps=conversation.max_steps,
        timeout=conversation.timeout,
        **settings,
    )


def _tools(conversation: Conversation) -> list[ScriptedTool]:
    behaviours = (None, errs("it failed"), returns(conversation.result), Delay(SLOW).tool())
    return [
        tool(name) if behave is None else tool(name, behave)
        for name, behave in zip(TOOLS, behaviours, strict=True)
        if name in conversation.tools
    ]


def _line(turn: DrawnTurn) -> Line:
    calls = (call(made.name, made.arguments, made.id) for made in turn.calls)
    said = ask(*calls, text=turn.text, usage=turn.usage, finish_reason=turn.finish_reason)
    return Delay(turn.delay).reply(said) if turn.delay else said


def tell_trials_apart(record: TrialRecord, expected: TrialRecord) -> str:
    """Return in words where a trial went otherwise than that of the reference loop; empty if nowhere."""
    if record.failure is not None and expected.failure is None:
        return f"the trial fails, and that of the reference loop does not: {record.failure.message}"
    seen, wanted = len(record.requests), len(expected.requests)
    if seen != wanted:
        return f"the model is asked {number_of(seen, 'time')}, and by the reference loop {number_of(wanted, 'time')}"
    made, right = (sorted(map(_as_json, one.calls)) for one in (record, expected))
    if made != right:
        return f"the calls are {made}, and those of the reference loop {right}"
    left, kept = ([_as_json(call) for call in one.calls if call.dropped] for one in (record, expected))
    if left and not kept:
        return f"the call {left[0]} is not waited for, and by the reference loop it is"
    return ""


def _as_json(made: ObservedCall) -> str:
    return json.dumps([made.tool, made.arguments], sort_keys=True, ensure_ascii=False)
