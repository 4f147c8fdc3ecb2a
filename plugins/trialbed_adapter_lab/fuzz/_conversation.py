"""A conversation that can be drawn, sent to another process, played, and printed as a test."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from trialbed.records import Record

TOOLS = ("Echo_text", "Failing_text", "Given_text", "Slow_text")
"""Return the arguments; an error; the conversation's own result; the arguments after a while."""


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

    def as_test(self, agent: str, invariant: str) -> str:
        """Return a test for the kit's ``Harness`` that shows the breach.

        Args:
            agent: the adapter's class, as ``module:Class``.
            invariant: the name of the invariant that is broken; empty where the reference loop does otherwise.
        """
        module, _, name = agent.partition(":")
        looks = f"from trialbed_adapter_lab.harness import {invariant}\n" if invariant else ""
        breach = (
            f"    assert not harness.oracle.breaches({invariant})\n"
            if invariant
            else "    assert record.answer is not None\n"
            f"    assert record.answer.final_answer == {self.answer!r}\n"
            f"    assert len(record.requests) == {len(self.turns) + 1}\n"
        )
        lines = "".join(f"            {_turn(turn)},\n" for turn in self.turns)
        settings = "".join(f"            {key}={value!r},\n" for key, value in self.settings.items())
        tools = ", ".join(self._tools())
        return (
            "from trialbed_adapter_lab import Harness\n"
            f"{looks}"
            "from trialbed_adapter_lab.harness import errs, returns, tool\n"
            "from trialbed_scripted import ask, call\n"
            f"from {module} import {name}\n\n\n"
            "async def test_breach() -> None:\n"
            f"    with Harness({name}) as harness:\n"
            "        record = await harness.run(\n"
            f"{lines}            {self.answer!r},\n{settings}"
            f"            tools=[{tools}],\n            max_steps={self.max_steps},\n        )\n"
            f"{breach}"
        )

    def _tools(self) -> list[str]:
        """Return the tools that the conversation needs, as a test writes them."""
        written = {
            "Echo_text": 'tool("Echo_text")',
            "Failing_text": 'tool("Failing_text", errs("it failed"))',
            "Given_text": f'tool("Given_text", returns({self.result!r}))',
            "Slow_text": 'tool("Slow_text")',
        }
        named = {call.name for turn in self.turns for call in turn.calls}
        return [text for name, text in written.items() if name in named or name == TOOLS[0]]


def _turn(turn: DrawnTurn) -> str:
    calls = [f"call({call.name!r}, {call.arguments!r}, {call.id!r})" for call in turn.calls]
    more = {name: getattr(turn, name) for name in ("text", "finish_reason") if getattr(turn, name)}
    if turn.usage is not None:
        more["usage"] = turn.usage
    return f"ask({', '.join([*calls, *(f'{name}={value!r}' for name, value in more.items())])})"
