"""The names of the kit before it moved here from ``trialbed.conformance``; they are removed in the next release.

``trialbed.conformance`` offers them, and the fixture ``stage`` yields a ``Stage``. What was renamed is in ``RENAMED``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict

from trialbed_adapter_lab import (
    CHECKS,
    LEVELS,
    ApiReply,
    Barrier,
    Call,
    Check,
    CheckFailed,
    Event,
    Finding,
    Gate,
    Harness,
    Kit,
    Level,
    ModelRequest,
    NetworkWatch,
    PreparedTrial,
    Raw,
    Reply,
    Report,
    ScriptedTool,
    ToolCall,
    TrialRecord,
    asks,
    breaks,
    call,
    check_adapter,
    echo,
    errs,
    fails,
    forever,
    like_a_worker,
    named_agent,
    returns,
    says,
    tool,
)
from trialbed_adapter_lab.harness import DelayedReply

__all__ = [
    "CHECKS",
    "LEVELS",
    "ApiReply",
    "Call",
    "Check",
    "CheckFailed",
    "Conditions",
    "Cue",
    "Finding",
    "Held",
    "Kit",
    "Level",
    "Meeting",
    "ModelRequest",
    "NetworkWatch",
    "Play",
    "Raw",
    "Report",
    "Said",
    "Stage",
    "StageTool",
    "StageTrial",
    "ToolCall",
    "asks",
    "breaks",
    "call",
    "check_adapter",
    "echo",
    "errs",
    "fails",
    "forever",
    "like_a_worker",
    "named_agent",
    "returns",
    "says",
    "tool",
]

RENAMED = {
    "Cue": "Event",
    "Held": "Gate",
    "Meeting": "Barrier",
    "Play": "TrialRecord",
    "Said": "Reply",
    "Stage": "Harness",
    "StageTool": "ScriptedTool",
    "StageTrial": "PreparedTrial",
}
"""Old name -> the name in ``trialbed_adapter_lab``."""

Play = TrialRecord
Said = Reply
StageTool = ScriptedTool


class Conditions(TypedDict, total=False):
    """``trialbed_adapter_lab.Conditions``, with ``patience`` for ``timeout``."""

    tools: Sequence[ScriptedTool]
    query: str
    system_prompt: str
    max_steps: int
    model: str
    temperature: float
    max_tokens: int | None
    seed: int
    base_url: str
    patience: float


class Cue(Event):
    """``Event``, with ``give`` and ``given`` for ``set`` and ``is_set``."""

    @property
    def given(self) -> bool:
        """Whether it has been set."""
        return self.is_set()

    def give(self) -> None:
        """Set it."""
        self.set()


class Held(Gate):
    """``Gate``, with ``begun`` and ``released`` for ``reached`` and ``open``, and ``line`` for ``reply``."""

    def __init__(self, patience: float = 60.0) -> None:
        super().__init__(patience)
        self.reached = self.begun = Cue()
        self.opened = self.released = Cue()

    def line(self, said: Reply | Raw) -> DelayedReply:
        """A reply of the model that waits at the gate first."""
        return self.reply(said)


class Meeting(Barrier):
    """``Barrier``, with ``come`` and ``met`` for ``wait`` and ``all_arrived``, and ``line`` for ``reply``."""

    def __init__(self, members: int, patience: float = 5.0) -> None:
        super().__init__(members, patience)

    @property
    def met(self) -> bool:
        """Whether all parties waited at the same time."""
        return self.all_arrived

    async def come(self) -> None:
        """Arrive, and wait for the others."""
        await self.wait()

    def line(self, said: Reply | Raw) -> DelayedReply:
        """A reply of the model that waits for the other parties first."""
        return self.reply(said)


class StageTrial(PreparedTrial):
    """``PreparedTrial``, with ``play`` for ``run``."""

    async def play(self) -> TrialRecord:
        """Run it."""
        return await self.run()


class Stage(Harness):
    """``Harness``, with ``play`` for ``run``, ``surroundings`` for ``process_state``, ``patience`` for ``timeout``."""

    _trial_class: ClassVar[type[PreparedTrial]] = StageTrial

    @property
    def surroundings(self) -> Mapping[str, Any]:
        """The state of the process before the first trial."""
        return self.process_state

    def prepare(self, *script: Any, **conditions: Any) -> StageTrial:
        """A trial that is ready to run."""
        if "patience" in conditions:
            conditions["timeout"] = conditions.pop("patience")
        trial = super().prepare(*script, **conditions)
        assert isinstance(trial, StageTrial)  # noqa: S101 - for the type checker: it is made of _trial_class
        return trial

    async def play(self, *script: Any, **conditions: Any) -> TrialRecord:
        """Run one trial."""
        return await self.run(*script, **conditions)
