"""From options to a report."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from trialbed.contracts import Executor
from trialbed.errors import TrialbedError
from trialbed.records import FrameworkInfo
from trialbed_fidelity._conditions import Watch
from trialbed_fidelity._not_measured import NotMeasured
from trialbed_fidelity._options import REFERENCE, FidelityOptions
from trialbed_fidelity._report import FidelityReport, FrameworkFidelity, Missing, Part
from trialbed_fidelity.harness import Observed, Rig, open_rig
from trialbed_fidelity.measurements import (
    measure_behaviour,
    measure_load,
    measure_many,
    measure_prompt,
    measure_schemas,
    play_prompt,
)

Say = Callable[[str], None]


def silent(_text: str) -> None:
    """Say nothing."""


async def measure(options: FidelityOptions, say: Say = silent) -> FidelityReport:
    """Measure every framework; what fails with one is noted and ends nothing else.

    Args:
        say: is told of every step.

    Raises:
        NothingMeasured: the server of the rig does not start.
        DriverError: the executor cannot be used.
    """
    watch = Watch()
    sitting = _Sitting(options, say)
    await sitting.go()
    conditions = watch.conditions(
        parts=options.parts,
        tools=options.tools,
        many=options.many,
        rounds=options.rounds,
        concurrencies=options.concurrencies,
    )
    return FidelityReport(conditions=conditions, frameworks=tuple(sitting.found.values()))


class _Sitting:
    """One measurement.

    Attributes:
        found: label -> what was observed so far.
    """

    def __init__(self, options: FidelityOptions, say: Say) -> None:
        self._options = options
        self._say = say
        self._reference: Observed | None = None
        self.found = {label: FrameworkFidelity(framework=label) for label in options.labels}

    async def go(self) -> None:
        """Measure all parts, the load last, when no worker is left that could disturb it."""
        async with open_rig(self._options.environments, self._options.executor) as (rig, workers):
            async with workers:
                for label in self._options.labels:
                    await self._framework(rig, workers, label)
            if "load" in self._options.parts:
                await self._load(rig)

    async def _framework(self, rig: Rig, workers: Executor, label: str) -> None:
        self._say(f"{label}: loading")
        try:
            info = await workers.describe(label)
        except TrialbedError as error:
            self._missing(label, "", str(error))
            return
        self._note(label, **_about(info))
        for part, work in self._parts(rig, label).items():
            if part in self._options.parts:
                self._say(f"{label}: {part}")
                try:
                    self._note(label, **{part: await work()})
                except NotMeasured as reason:
                    self._missing(label, part, str(reason))

    def _parts(self, rig: Rig, label: str) -> dict[Part, Callable[[], Awaitable[Any]]]:
        options = self._options
        return {
            "schemas": lambda: measure_schemas(rig, label),
            "prompt": lambda: self._prompt(rig, label),
            "many": lambda: measure_many(rig, label, options.many),
            "behaviour": lambda: measure_behaviour(rig, label, options.tools),
        }

    async def _prompt(self, rig: Rig, label: str) -> Any:
        if self._reference is None:
            self._reference = await play_prompt(rig, REFERENCE, self._options.tools)
        return await measure_prompt(rig, label, self._reference, self._options.tools)

    async def _load(self, rig: Rig) -> None:
        options = self._options
        usable = [label for label, found in self.found.items() if found.version is not None]
        measured = await measure_load(
            rig,
            usable,
            options.environments,
            tools=options.tools,
            rounds=options.rounds,
            concurrencies=options.concurrencies,
            say=self._say,
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
