"""The measurement: every framework and part that the options ask for, and the report on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from trialbed.contracts import Executor
from trialbed.errors import TrialbedError
from trialbed.records import FrameworkInfo
from trialbed_fidelity._conditions import ConditionsRecorder
from trialbed_fidelity._not_measured import NotMeasured
from trialbed_fidelity._options import REFERENCE, FidelityOptions
from trialbed_fidelity._report import FidelityReport, FrameworkFidelity, Missing, Part
from trialbed_fidelity.harness import Harness, Observed, open_harness
from trialbed_fidelity.measurements import (
    measure_behaviour,
    measure_load,
    measure_many,
    measure_prompt,
    measure_schemas,
    run_prompt_trial,
)

OnStep = Callable[[str], None]


def ignore_step(_text: str) -> None:
    """Show nothing."""


async def measure(options: FidelityOptions, on_step: OnStep = ignore_step) -> FidelityReport:
    """Measure every framework; a failure of one is recorded, and the others go on.

    Args:
        on_step: called with a text at every step.

    Raises:
        NothingMeasured: the server does not start.
        DriverError: the executor cannot be used.
    """
    recorder = ConditionsRecorder()
    measurement = _Measurement(options, on_step)
    await measurement.run()
    conditions = recorder.conditions(
        parts=options.parts,
        tools=options.tools,
        many=options.many,
        rounds=options.rounds,
        concurrencies=options.concurrencies,
    )
    return FidelityReport(conditions=conditions, frameworks=tuple(measurement.found.values()))


class _Measurement:
    """One measurement.

    Attributes:
        found: framework -> what was observed so far.
    """

    def __init__(self, options: FidelityOptions, on_step: OnStep) -> None:
        self._options = options
        self._on_step = on_step
        self._reference: Observed | None = None
        self.found = {label: FrameworkFidelity(framework=label) for label in options.labels}

    async def run(self) -> None:
        """Measure all parts, the load last, when no worker is left to disturb it."""
        async with open_harness(self._options.environments, self._options.executor) as (harness, workers):
            async with workers:
                for label in self._options.labels:
                    await self._framework(harness, workers, label)
            if "load" in self._options.parts:
                await self._load(harness)

    async def _framework(self, harness: Harness, workers: Executor, label: str) -> None:
        self._on_step(f"{label}: loading")
        try:
            info = await workers.describe(label)
        except TrialbedError as error:
            self._missing(label, "", str(error))
            return
        self._note(label, **_about(info))
        for part, work in self._parts(harness, label).items():
            if part in self._options.parts:
                self._on_step(f"{label}: {part}")
                try:
                    self._note(label, **{part: await work()})
                except NotMeasured as reason:
                    self._missing(label, part, str(reason))

    def _parts(self, harness: Harness, label: str) -> dict[Part, Callable[[], Awaitable[Any]]]:
        options = self._options
        return {
            "schemas": lambda: measure_schemas(harness, label),
            "prompt": lambda: self._prompt(harness, label),
            "many": lambda: measure_many(harness, label, options.many),
            "behaviour": lambda: measure_behaviour(harness, label, options.tools),
        }

    async def _prompt(self, harness: Harness, label: str) -> Any:
        if self._reference is None:
            self._reference = await run_prompt_trial(harness, REFERENCE, self._options.tools)
        return await measure_prompt(harness, label, self._reference, self._options.tools)

    async def _load(self, harness: Harness) -> None:
        options = self._options
        usable = [label for label, found in self.found.items() if found.version is not None]
        measured = await measure_load(
            harness,
            usable,
            options.environments,
            tools=options.tools,
            rounds=options.rounds,
            concurrencies=options.concurrencies,
            on_step=self._on_step,
        )
        for label, load in measured.items():
            if isinstance(load, NotMeasured):
                self._missing(label, "load", str(load))
            else:
                self._note(label, load=load)

    def _note(self, label: str, **found: Any) -> None:
        self.found[label] = self.found[label].model_copy(update=found)

    def _missing(self, label: str, part: Part | str, reason: str) -> None:
        missing = Missing.model_validate({"part": part, "reason": reason})
        self._note(label, missing=(*self.found[label].missing, missing))


def _about(info: FrameworkInfo) -> dict[str, Any]:
    return {
        "version": info.version,
        "adapter": f"{info.adapter} {info.adapter_version}",
        "python": info.python,
        "lock_digest": info.lock_digest,
        "declared": tuple(deviation.text for deviation in info.deviations),
    }
