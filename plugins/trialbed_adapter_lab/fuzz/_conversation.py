"""A conversation that can be drawn, sent to another process, played, and printed as a test."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from trialbed.records import Record

TOOLS = ("Echo_text", "Failing_text", "Given_text", "Slow_text")
"""Return the arguments; an error; the conversation's own result; the arguments after a while."""

MOST_CALLS = 4
"""Calls of a drawn turn."""

SLOW = 10.0
"""Seconds that ``Slow_text`` takes. Calls side by side put the same clock forward, each by as much: all calls of a turn
together take less than a tool may."""

TIMEOUT = 120.0
"""Seconds that a trial may take beside those that the model and its tools take."""

LONG = "long "
LONG_RUN = re.compile(f"(?:{LONG}){{20,}}")
"""A piece of long texts, which a test writes as a product."""


class DrawnCall(Record):
    """A call as the model writes it: ``arguments`` is its text, right or wrong."""

    name: str = TOOLS[0]
    arguments: str = '{"text": "x"}'
    id: str = ""


class DrawnTurn(Record):
    """A turn with calls.

    Attributes:
        text: beside the calls; None if there is none.
        usage: as reported; None if the model reports none.
        finish_reason: empty for the usual one.
        delay: seconds that the model takes.
    """

    calls: tuple[DrawnCall, ...]
    text: str | None = None
    usage: dict[str, Any] | None = None
    finish_reason: str = ""
    delay: float = 0.0


class Conversation(Record):
    """A model's turns and its answer, with the conditions of a trial.

    Attributes:
        turns: those with calls.
        answer: the text that ends the trial.
        result: what ``Given_text`` returns.
        spare: requests that are allowed and not needed.
        settings: as ``TrialSettings`` names them.
    """

    turns: tuple[DrawnTurn, ...] = ()
    answer: str = "done"
    result: str = "given"
    spare: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)

    @property
    def max_steps(self) -> int:
        """The requests that the trial is allowed."""
        return len(self.turns) + 1 + self.spare

    @property
    def tools(self) -> list[str]:
        """The names of the tools that it needs."""
        named = {call.name for turn in self.turns for call in turn.calls}
        return [name for name in TOOLS if name in named or name == TOOLS[0]]

    @property
    def timeout(self) -> float:
        """The seconds that the trial has, most of which pass at once."""
        slow = sum(call.name == TOOLS[-1] for turn in self.turns for call in turn.calls)
        return TIMEOUT + SLOW * slow + sum(turn.delay for turn in self.turns)

    def as_test(self, agent: str, invariant: str) -> str:
        """Return a module with a test for the kit's ``Harness`` that fails for the breach.

        Args:
            agent: the adapter's class, as ``module:Class``.
            invariant: the name of the invariant that is broken; empty where the reference loop does otherwise.
        """
        module, _, name = agent.partition(":")
        body = self._trial() + (_of_invariant(name, invariant) if invariant else _beside_reference(name))
        used = set(re.findall(r"\b\w+\b", body))
        return _imports(used, {module: (name,)}) + "\n\n" + body

    def _trial(self) -> str:
        settings = {**self.settings, "max_steps": self.max_steps, "timeout": self.timeout}
        lines = [*map(_turn, self.turns), _text(self.answer)]
        lines += [f"{key}={_text(value)}" for key, value in settings.items()]
        tools = ", ".join(self._tool(name) for name in self.tools)
        return (
            "async def converse(harness):\n    return await harness.run(\n"
            + "".join(f"        {line},\n" for line in [*lines, f"tools=[{tools}]"])
            + "    )\n\n\n"
        )

    def _tool(self, name: str) -> str:
        """Return a tool as a test writes it."""
        behaviours = ("", ', errs("it failed")', f", returns({_text(self.result)})", f", Delay({SLOW}).tool()")
        return f'tool("{name}"{behaviours[TOOLS.index(name)]})'


def _of_invariant(agent: str, invariant: str) -> str:
    return (
        "def test_breach():\n"
        f"    with asyncio.Runner(loop_factory=PassingLoop) as runner, Harness({agent}) as harness:\n"
        "        runner.run(converse(harness))\n"
        f'    assert not harness.oracle.breaches("{invariant}")\n'
    )


def _beside_reference(agent: str) -> str:
    return (
        "def test_breach():\n"
        "    with (\n        asyncio.Runner(loop_factory=PassingLoop) as runner,\n"
        f"        Harness({agent}) as harness,\n        Harness(ReferenceAgent) as reference,\n    ):\n"
        "        record, expected = runner.run(converse(harness)), runner.run(converse(reference))\n"
        '    assert tell_trials_apart(record, expected) == ""\n'
    )


FROM = {
    "trialbed_adapter_lab": ("Harness",),
    "trialbed_adapter_lab.fuzz": ("tell_trials_apart",),
    "trialbed_adapter_lab.harness": ("Delay", "PassingLoop", "errs", "returns", "tool"),
    "trialbed_plugins.frameworks.reference": ("ReferenceAgent",),
    "trialbed_scripted": ("ask", "call"),
}
"""Module -> the names of it that tests use."""


def _imports(used: set[str], own: dict[str, tuple[str, ...]]) -> str:
    lines = [
        f"from {module} import {', '.join(name for name in names if name in used)}\n"
        for module, names in {**FROM, **own}.items()
        if used & {*names}
    ]
    return "import asyncio\n\n" + "".join(lines)


def _turn(turn: DrawnTurn) -> str:
    calls = [
        f"call({', '.join(map(_text, [call.name, call.arguments, *filter(None, [call.id])]))})" for call in turn.calls
    ]
    more = {name: getattr(turn, name) for name in ("text", "finish_reason") if getattr(turn, name)}
    given = {**more, "usage": turn.usage}
    said = f"ask({', '.join([*calls, *(f'{name}={_text(value)}' for name, value in given.items())])})"
    return f"Delay({turn.delay}).reply({said})" if turn.delay else said


def _text(value: Any) -> str:
    """Return a value as Python writes it, a long text in it shortly."""
    written = repr(value)
    if not isinstance(value, str):
        return written
    quote = written[-1]
    return LONG_RUN.sub(lambda run: f"{quote} + {LONG!r} * {len(run[0]) // len(LONG)} + {quote}", written)
