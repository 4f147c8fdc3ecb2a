"""The result of ``bench fidelity``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict

from trialbed.records import Record, framework_profile
from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.fidelity.behaviour import Behaviour, ErrorFinding, InvariantFinding
from trialbed_adapter_lab.fidelity.traffic import Prompt, ToolSchemas
from trialbed_adapter_lab.report_command import PARTS, Part


class Conditions(Record):
    """The machine, the time and the settings of a measurement.

    Attributes:
        tools: tools on offer per trial, except in the part ``schemas``.
    """

    # Files of earlier versions have more.
    model_config = ConfigDict(extra="ignore")

    measured_at: datetime
    trialbed: str
    python: str
    system: str
    cores: int
    seconds: float
    parts: tuple[str, ...]
    tools: int


class Missing(Record):
    """A part that could not be measured, and why. ``part`` is empty if the framework could not be loaded."""

    part: Part | Literal[""]
    reason: str


class FrameworkFidelity(Record):
    """The figures of one framework; a part is None if it was not asked for or is ``missing``.

    Attributes:
        framework: the label asked for.
        version: the framework's own, None if it could not be loaded. ``adapter``: distribution and version of its
            adapter. ``python``: of the interpreter it ran in.
        lock_digest: of the environment it ran in, empty if it ran in the environment of Trialbed.
        declared: the deviations that its adapter declares. ``dialect``: in which it says that it asks the model.
        invariants: of the trials of all parts; None where they were not looked at.
    """

    model_config = ConfigDict(extra="ignore")

    framework: str
    version: str | None = None
    adapter: str | None = None
    python: str | None = None
    lock_digest: str = ""
    declared: tuple[str, ...] = ()
    dialect: str = CHAT
    schemas: ToolSchemas | None = None
    prompt: Prompt | None = None
    behaviour: Behaviour | None = None
    errors: tuple[ErrorFinding, ...] | None = None
    invariants: tuple[InvariantFinding, ...] | None = None
    missing: tuple[Missing, ...] = ()

    @property
    def profile(self) -> str | None:
        """Its profile; None for a framework without profiles."""
        return framework_profile(self.framework)


class FidelityReport(Record):
    """The effect of each framework on the traffic; ``reference``, the baseline, is the first."""

    conditions: Conditions
    frameworks: tuple[FrameworkFidelity, ...]

    def of_parts(self, parts: Sequence[Part]) -> FidelityReport:
        """Return the report on these of its parts alone."""
        chosen = tuple(part for part in self.conditions.parts if part in parts)
        gone: dict[str, Any] = {part: None for part in PARTS if part not in chosen}
        frameworks = []
        for one in self.frameworks:
            missing = tuple(gap for gap in one.missing if gap.part in ("", *chosen))
            frameworks.append(one.model_copy(update={**gone, "missing": missing}))
        conditions = self.conditions.model_copy(update={"parts": chosen})
        return FidelityReport(conditions=conditions, frameworks=tuple(frameworks))

    @property
    def complete(self) -> bool:
        """Every part that was asked for was measured."""
        return not any(framework.missing for framework in self.frameworks)

    @property
    def empty(self) -> bool:
        """No part was measured of any framework but the reference."""
        measured = self.frameworks[1:] or self.frameworks
        return all(getattr(one, part) is None for one in measured for part in PARTS)
