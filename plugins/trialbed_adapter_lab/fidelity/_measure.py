"""The measurement: every framework and part that the options ask for, and the report on them."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from trialbed.contracts import Executor
from trialbed.errors import TrialbedError
from trialbed.records import Environment
from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity._report import Conditions, FidelityReport, FrameworkFidelity, Missing
from trialbed_adapter_lab.fidelity.behaviour import invariant_findings, measure_behaviour, measure_errors
from trialbed_adapter_lab.fidelity.traffic import measure_prompt, measure_schemas, run_prompt_trial
from trialbed_adapter_lab.harness import Observed, Oracle, WorkerHarness, open_worker_harness
from trialbed_adapter_lab.report_command import PARTS, Part

INTERRUPTED = "interrupted before it was measured"

OnStep = Callable[[str], None]


REFERENCE = "reference"
TOOLS = 20
"""Tools on offer per trial, except in the part ``schemas``."""


@dataclass(frozen=True, kw_only=True)
class FidelityOptions:
    """The options of a measurement.

    Attributes:
        frameworks: labels; the reference is measured too, first, unless ``baseline`` is false.
        parts: which of ``PARTS``.
        environments: label -> its own environment, for those that do not run in this interpreter.
    """

    frameworks: tuple[str, ...] = ()
    parts: tuple[Part, ...] = PARTS
    environments: Mapping[str, Environment] = field(default_factory=dict)
    baseline: bool = True

    @property
    def labels(self) -> tuple[str, ...]:
        """The reference, unless it is not wanted, and all that was asked for, each once."""
        return tuple(dict.fromkeys((*[REFERENCE] * self.baseline, *self.frameworks)))


async def measure(
    options: FidelityOptions,
    on_step: OnStep = lambda _: None,
    on_interruption: Callable[[FidelityReport], None] | None = None,
) -> FidelityReport:
    """Measure every framework; a failure of one is recorded, and the others go on.

    Args:
        on_step: called with a text at every step.
        on_interruption: called with the figures so far, if this is cancelled before its end.

    Raises:
        NothingMeasured: the server does not start.
    """
    began = datetime.now(UTC)
    measurement = _Measurement(options, on_step)

    def report() -> FidelityReport:
        conditions = Conditions(
            measured_at=began,
            trialbed=version("trialbed"),
            python=platform.python_version(),
            system=platform.platform(),
            cores=os.cpu_count() or 1,
            seconds=(datetime.now(UTC) - began).total_seconds(),
            parts=options.parts,
            tools=TOOLS,
        )
        return FidelityReport(conditions=conditions, frameworks=tuple(measurement.found.values()))

    try:
        await measurement.run()
    except asyncio.CancelledError:
        if on_interruption is not None:
            measurement.interrupt()
            on_interruption(report())
        raise
    return report()


class _Measurement:
    """One measurement.

    Attributes:
        found: label of a framework -> the figures so far.
    """

    def __init__(self, options: FidelityOptions, on_step: OnStep) -> None:
        self._options = options
        self._on_step = on_step
        self._reference: dict[str, Observed] = {}
        self.found = {label: FrameworkFidelity(framework=label) for label in options.labels}

    async def run(self) -> None:
        """Measure all parts."""
        options = self._options
        async with open_worker_harness(options.environments) as (harness, workers), workers:
            for label in options.labels:
                await self._framework(replace(harness, framework=label, oracle=Oracle()), workers)

    async def _framework(self, harness: WorkerHarness, workers: Executor) -> None:
        label = harness.framework
        self._on_step(f"{label}: loading")
        try:
            info = await workers.describe(label)
        except TrialbedError as error:
            self._missing(label, "", str(error))
            return
        self._note(
            label,
            version=info.version,
            adapter=f"{info.adapter} {info.adapter_version}",
            python=info.python,
            lock_digest=info.lock_digest,
            declared=tuple(deviation.text for deviation in info.deviations),
            dialect=info.dialect,
        )
        work: dict[Part, Callable[[], Awaitable[Any]]] = {
            "schemas": lambda: measure_schemas(harness),
            "prompt": lambda: self._prompt(harness),
            "behaviour": lambda: measure_behaviour(harness, TOOLS),
            "errors": lambda: measure_errors(harness),
        }
        for part in (part for part in work if part in self._options.parts):
            self._on_step(f"{label}: {part}")
            harness.oracle.about = f"the part {part}"
            try:
                self._note(label, **{part: await work[part]()})
            except NotMeasured as reason:
                self._missing(label, part, str(reason))
        self._note(label, invariants=invariant_findings(harness.oracle))

    def interrupt(self) -> None:
        """Note the parts that were not measured."""
        for label, found in self.found.items():
            known = {one.part for one in found.missing}
            parts: tuple[Part | str, ...] = self._options.parts if found.version is not None else ("",)
            for part in parts:
                if not known & {part, ""} and (not part or getattr(found, part) is None):
                    self._missing(label, part, INTERRUPTED)

    async def _prompt(self, harness: WorkerHarness) -> Any:
        async def reference(spoken: str) -> Observed:
            if spoken not in self._reference:
                label = REFERENCE if spoken == CHAT else f"{REFERENCE}-{spoken}"
                plain = replace(harness, framework=label, oracle=Oracle())
                self._reference[spoken] = await run_prompt_trial(plain, TOOLS)
            return self._reference[spoken]

        return await measure_prompt(harness, reference, TOOLS)

    def _note(self, label: str, **found: Any) -> None:
        self.found[label] = self.found[label].model_copy(update=found)

    def _missing(self, label: str, part: Part | str, reason: str) -> None:
        missing = Missing.model_validate({"part": part, "reason": reason})
        self._note(label, missing=(*self.found[label].missing, missing))
