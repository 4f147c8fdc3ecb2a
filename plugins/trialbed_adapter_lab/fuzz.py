"""A fuzzer of adapters that draws conversations until one breaks an invariant, and shortens it."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, cast

from pydantic import Field

from trialbed.contracts import BaseAgent
from trialbed.drivers import load_driver
from trialbed.errors import TrialbedError, UsageError
from trialbed.records import Record
from trialbed.texts import number_of
from trialbed_adapter_lab.harness import (
    BLOCKED,
    DETAILED_USAGE,
    Delay,
    Harness,
    ObservedCall,
    PassingLoop,
    ScriptedTool,
    TrialRecord,
    echo,
    errs,
    first_breaches,
    returns,
    tool,
    watchdog,
)
from trialbed_scripted import Line, ask, call

TOOLS = ("Echo_text", "Failing_text", "Given_text", "Slow_text")
"""Return the arguments; an error; the conversation's own result; the arguments after a while."""

MOST_CALLS = 4
"""Calls of a drawn turn."""

SLOW = 10.0
"""Seconds that ``Slow_text`` takes. Calls side by side put the same clock forward, each by as much: all calls of a turn
together take less than a tool may."""

TIMEOUT = 120.0
"""Time limit of a trial in seconds, in addition to the model's and tools' time."""

LONG = "long "
LONG_RUN = re.compile(f"(?:{LONG}){{20,}}")
"""A piece of long texts, which a test writes as a product."""

MOST_LONG = 4
"""A long text has at most this many times 25,000 characters; turns that are repeated often have none."""

WIDTH = 100
"""Characters of a line of a test, if no text is longer."""

EXAMPLES = 100_000
"""More conversations than the time allows."""

WRITTEN = (
    *('{"text": "x"}', "{}", "", '{"text": 1.0, "n": null}', '"{\\"text\\": \\"x\\"}"', "{'text': 'x'}", "[1]"),
    *('{"text": "x",}', '{"text": "x', "null", '```json\n{"text": "x"}\n```', '{"text": "x"} {"text": "y"}'),
)
NAMES = (*TOOLS, "echo_text", "Echo_txt", "functions.Echo_text", "Nobody")
PIECES = ("", " ", "\n", "\r\n", "a", "e\u0301", "é", "{x}", "%s", "🦜", "&amp;", "True", "1.0", "\u200b", "Error: ")


class _Drawn(Record):
    """A record that omits default values from its ``repr``."""

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        fields = type(self).model_fields
        shown = super().__repr_args__()
        return [
            (name, value) for name, value in shown if value != fields[name or ""].get_default(call_default_factory=True)
        ]


class DrawnCall(_Drawn):
    """A call as the model writes it: ``arguments`` is its text, right or wrong."""

    name: str = TOOLS[0]
    arguments: str = '{"text": "x"}'


class DrawnTurn(_Drawn):
    """A turn with calls.

    Attributes:
        text: the text of the turn, or None.
        usage: the reported usage, or None.
        finish_reason: empty for the usual one.
        delay: seconds that the model takes.
    """

    calls: tuple[DrawnCall, ...]
    text: str | None = None
    usage: dict[str, Any] | None = None
    finish_reason: str = ""
    delay: float = 0.0


class Conversation(_Drawn):
    """A model's turns and its answer, with the conditions of a trial.

    Attributes:
        turns: the turns with calls.
        answer: the text that ends the trial.
        result: the return value of ``Given_text``.
        spare: number of allowed but unnecessary requests.
        settings: named like ``TrialSettings``.
    """

    turns: tuple[DrawnTurn, ...] = ()
    answer: str = "done"
    result: str = "given"
    spare: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)

    def as_test(self, agent: str) -> str:
        """Return a module with a test that fails as long as an adapter breaks something in this conversation.

        Args:
            agent: the adapter's class, as ``module:Class``.
        """
        from rich.pretty import pretty_repr

        module, _, name = agent.partition(":")
        # Quotes for long texts, which do not contain these quotes.
        written = LONG_RUN.sub(
            lambda run: f"' + {LONG!r} * {len(run[0]) // len(LONG)} + '", pretty_repr(self, max_width=WIDTH)
        )
        used = [kind.__name__ for kind in (Conversation, DrawnCall, DrawnTurn) if f"{kind.__name__}(" in written]
        return (
            f"from trialbed_adapter_lab.fuzz import {', '.join([*used, 'breaches'])}\nfrom {module} import {name}\n\n"
            f"CONVERSATION = {written}\n\n\n"
            f"def test_breach():\n    assert breaches({name}, CONVERSATION) == []\n"
        )


Breaches = list[tuple[str, str]]
"""The names of the invariants that are broken, each with the first breach in words; no name where the plain loop
does otherwise."""

Play = Callable[[Conversation], Breaches]


def breaches(agent: type[BaseAgent], conversation: Conversation) -> Breaches:
    """Play a conversation with an adapter, and return its breaches."""
    with playing(agent) as play:
        return play(conversation)


@contextmanager
def playing(agent: type[BaseAgent]) -> Iterator[Play]:
    """Enter this to play conversations with an adapter and with the plain loop."""
    reference_loop = cast("type[BaseAgent]", load_driver("frameworks", "reference"))
    with (
        asyncio.Runner(loop_factory=PassingLoop) as runner,
        Harness(agent) as harness,
        Harness(reference_loop) as reference,
    ):

        def play(conversation: Conversation) -> Breaches:
            expected = runner.run(_run(reference, conversation))
            try:
                with watchdog(runner.get_loop(), BLOCKED):
                    return _breaches(runner.run(_run(harness, conversation)), expected)
            except Exception as error:  # noqa: BLE001 - a trial that does not end is a breach, too
                return [("", f"{type(error).__name__}: {error}")]
            finally:
                harness.clear()
                reference.clear()

        yield play


async def _run(harness: Harness, conversation: Conversation) -> TrialRecord:
    called = [made.name for turn in conversation.turns for made in turn.calls]
    settings: Any = conversation.settings
    return await harness.run(
        *map(_line, conversation.turns),
        conversation.answer,
        tools=_tools(conversation.result, {TOOLS[0], *called}),
        max_steps=len(conversation.turns) + 1 + conversation.spare,
        # Most of the time is skipped.
        timeout=TIMEOUT + SLOW * called.count(TOOLS[-1]) + sum(turn.delay for turn in conversation.turns),
        **settings,
    )


def _line(turn: DrawnTurn) -> Line:
    calls = (call(made.name, made.arguments) for made in turn.calls)
    said = ask(*calls, text=turn.text, usage=turn.usage, finish_reason=turn.finish_reason)
    return Delay(turn.delay).reply(said) if turn.delay else said


def _tools(result: str, needed: Collection[str]) -> list[ScriptedTool]:
    behaviours = (echo, errs("it failed"), returns(result), Delay(SLOW).tool())
    return [tool(name, behave) for name, behave in zip(TOOLS, behaviours, strict=True) if name in needed]


def _breaches(record: TrialRecord, expected: TrialRecord) -> Breaches:
    """Return the broken invariants, or otherwise the difference from the plain loop's trial."""
    return first_breaches(record) or [("", other) for other in [_tell_apart(record, expected)] if other]


def _tell_apart(record: TrialRecord, expected: TrialRecord) -> str:
    """Describe the difference between a trial and the plain loop's; empty without one."""
    if record.failure is not None and expected.failure is None:
        return f"the trial fails, and the plain loop's does not: {record.failure.message}"
    seen, wanted = len(record.requests), len(expected.requests)
    if seen != wanted:
        return f"the model is asked {number_of(seen, 'time')}, and by the plain loop {number_of(wanted, 'time')}"
    made, right = (sorted(map(_as_json, one.calls)) for one in (record, expected))
    if made != right:
        return f"the calls are {made}, and the plain loop's {right}"
    left, kept = ([_as_json(call) for call in one.calls if call.dropped] for one in (record, expected))
    if left and not kept:
        return f"the call {left[0]} is not waited for, and by the plain loop it is"
    return ""


def _as_json(made: ObservedCall) -> str:
    return json.dumps([made.tool, made.arguments], sort_keys=True, ensure_ascii=False)


class Breach(NamedTuple):
    """A conversation that breaks something.

    Attributes:
        invariant: its name; empty if only the plain loop's behaviour differs.
        words: the breach in words.
    """

    conversation: Conversation
    invariant: str
    words: str


def search(
    play: Play, seconds: float, *, known: Collection[str] = (), seed: int | None = None
) -> tuple[Breach | None, int]:
    """Draw and play conversations for this time; return the shortest breach, if any, and the number played.

    Breaches of ``known`` invariants do not count.

    The time begins with the first conversation. Half as long goes into making a breach shorter.

    Raises:
        UsageError: hypothesis is not installed.
        TrialbedError: from ``play``, if it cannot play a conversation.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded
        from hypothesis.errors import HypothesisException
    except ImportError:
        raise UsageError("--fuzz draws conversations with hypothesis: pip install hypothesis") from None

    deadline, played = math.inf, 0
    best: list[Breach] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(conversations())
    def look(conversation: Conversation) -> None:
        nonlocal played, deadline
        deadline = deadline if played else time.monotonic() + seconds
        if time.monotonic() > deadline:
            raise _TimeIsOver
        played += 1
        try:
            found = [one for one in play(conversation) if one[0] not in known]
        except TrialbedError as error:
            # Hypothesis would take it for a breach, and play it again.
            raise _TimeIsOver from error
        if found:
            deadline = deadline if best else time.monotonic() + seconds / 2
            best.append(Breach(conversation, *found[0]))
            raise _Broken(found[0][0])

    try:
        with suppress(_Broken, HypothesisException):
            # With a seed of its own hypothesis does not say how to repeat a failure, which is none here.
            seeded(random.getrandbits(64) if seed is None else seed)(look)()
    except _TimeIsOver as end:
        if end.__cause__ is not None and not best:
            raise end.__cause__ from None
    return min(best, key=_length, default=None), played


def conversations() -> Any:
    """Return the strategy of conversations."""
    from hypothesis import strategies as st

    short = st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.lists(_letters(), max_size=20).map("".join)
    )
    texts = st.one_of(short, st.integers(1, MOST_LONG).map(lambda size: LONG * 5000 * size))
    repeated = st.builds(lambda turn, times: [turn] * times, _turns(short), st.integers(1, 40))
    settings = st.fixed_dictionaries(
        {},
        optional={
            "temperature": st.sampled_from([0.0, 0.35, 1.7]),
            "seed": st.integers(0, 2**31 - 1),
            "max_tokens": st.integers(1, 5000),
            "query": texts.map(lambda text: f"Query {text}."),
            "system_prompt": texts.map(lambda text: f"Prompt {text}."),
        },
    )
    return st.builds(
        Conversation,
        turns=st.one_of(st.lists(_turns(texts), max_size=6), repeated).map(tuple),
        answer=texts.map(lambda text: f"Answer {text}."),
        result=texts,
        spare=st.integers(0, 2),
        settings=settings,
    )


def _turns(texts: Any) -> Any:
    """Return the strategy of turns with texts from this strategy."""
    from hypothesis import strategies as st

    arguments = st.one_of(
        st.sampled_from(WRITTEN), texts.map(lambda text: json.dumps({"text": text}, ensure_ascii=False))
    )
    calls = st.builds(DrawnCall, name=st.sampled_from(NAMES), arguments=arguments)
    return st.builds(
        DrawnTurn,
        calls=st.lists(calls, min_size=1, max_size=MOST_CALLS).map(tuple),
        text=st.none() | texts.filter(bool),
        usage=st.sampled_from([{"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}, DETAILED_USAGE]),
        finish_reason=st.sampled_from(["", "stop", "length"]),
        delay=st.sampled_from([0.0, 0.0, 0.0, 700.0]),
    )


def _letters() -> Any:
    """Return the strategy of characters, without the tables of Unicode, which hypothesis would write here first."""
    from hypothesis import strategies as st

    return st.one_of(st.integers(1, 0xD7FF), st.integers(0xE000, 0x10FFFF)).map(chr)


class _TimeIsOver(BaseException):
    """The search time is over. This is not an exception that hypothesis would count as a breach."""


class _Broken(AssertionError):
    """A conversation broke an invariant."""


def _length(breach: Breach) -> tuple[int, int]:
    return len(breach.conversation.turns), len(breach.conversation.model_dump_json())
