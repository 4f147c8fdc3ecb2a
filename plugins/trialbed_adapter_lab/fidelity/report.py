"""The probes of several adapters: their measurement, and the report on them."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from trialbed.errors import TrialbedError
from trialbed.records import Environment, Record, framework_driver, framework_profile
from trialbed_adapter_lab.kit_process import run_kit
from trialbed_adapter_lab.probe import CheckFinding, ConformanceReport
from trialbed_adapter_lab.probes import PROBES

REFERENCE = "reference"

AT_ONCE = 2
"""Adapters that are measured at the same time; each mostly waits for models and tools that are slow on purpose."""

INTERRUPTED = "interrupted before it was measured"

FIRST = {name: theme for theme, name in {probe.theme: probe.name for probe in reversed(PROBES)}.items()}
"""The first probe of each theme -> the theme."""


class Conditions(Record):
    """The time, the machine and the settings of a measurement."""

    measured_at: datetime
    seconds: float
    trialbed: str
    python: str
    system: str
    cores: int
    themes: tuple[str, ...]


class MeasuredAdapter(Record):
    """The findings on one adapter.

    Attributes:
        label: as it was asked for, with its profile and release.
        lock_digest: of the environment that it ran in; empty if it ran in the environment of Trialbed.
        report: its messages are cut to one line; None if it could not be measured.
        reason: why it could not be measured.
    """

    label: str
    lock_digest: str = ""
    report: ConformanceReport | None = None
    reason: str = ""

    @property
    def profile(self) -> str | None:
        """Its profile; None for an adapter without profiles."""
        return framework_profile(self.label)

    @property
    def findings(self) -> dict[str, CheckFinding]:
        """The findings by probe."""
        return {finding.check: finding for finding in self.report.findings} if self.report else {}


class FidelityReport(Record):
    """The findings on several adapters. The reference comes first."""

    conditions: Conditions
    adapters: tuple[MeasuredAdapter, ...]

    @classmethod
    def of(cls, adapters: Iterable[MeasuredAdapter], themes: Collection[str], began: datetime) -> FidelityReport:
        """Return the report on a measurement that ends now."""
        conditions = Conditions(
            measured_at=began,
            seconds=round((datetime.now(UTC) - began).total_seconds(), 1),
            trialbed=version("trialbed"),
            python=platform.python_version(),
            system=platform.platform(),
            cores=os.cpu_count() or 1,
            themes=tuple(themes),
        )
        return cls(conditions=conditions, adapters=tuple(adapters)).on_themes(themes)

    def on_themes(self, themes: Collection[str]) -> FidelityReport:
        """Return the report on these of its themes alone, without lists, which are whole requests of a trial."""
        document = self.model_dump()
        document["conditions"]["themes"] = tuple(themes)
        for report in filter(None, (one["report"] for one in document["adapters"])):
            found = (one for one in report["findings"] if one["theme"] in ("", *themes))
            report["findings"] = [one for one in found if not isinstance(one["seen"], list)]
        return FidelityReport.model_validate(document)

    @property
    def complete(self) -> bool:
        """Every adapter was measured, and every probe was completed."""
        reports = [one.report for one in self.adapters]
        return all(report and all(one.outcome != "error" for one in report.findings) for report in reports)

    @property
    def empty(self) -> bool:
        """No adapter was measured but the reference."""
        return all(one.report is None for one in self.adapters[1:] or self.adapters)


async def measure(
    environments: Mapping[str, Environment | None],
    themes: Collection[str],
    found: dict[str, MeasuredAdapter],
    show: Callable[[str], object],
) -> None:
    """Run all probes of some themes on adapters; a failure of one is noted, and the others go on.

    Args:
        environments: label -> its own environment; None if it is installed here.
        found: gets the findings by label, in the order of the labels; if this is cancelled, it has those until then.
        show: called with a text at every step.
    """
    places = asyncio.Semaphore(AT_ONCE)
    options = ["--level", "info", *(word for theme in themes for word in ("--theme", theme))]

    async def measure_one(label: str, environment: Environment | None) -> None:
        def show_theme(line: str) -> None:
            if theme := FIRST.get(line.split()[1]):
                show(f"{label}: {theme}")

        async with places:
            show(f"{label}: loading")
            try:
                report = await run_kit(framework_driver(label), environment, options, show_theme)
            except (TrialbedError, OSError) as error:
                found[label] = MeasuredAdapter(label=label, reason=str(error))
                show(f"{label}: could not be measured")
                return
            digest = environment.lock_digest if environment else ""
            findings = tuple(finding.without_traces() for finding in report.findings)
            short = report.model_copy(update={"findings": findings})
            found[label] = MeasuredAdapter(label=label, lock_digest=digest, report=short)
            show(f"{label}: measured, {report.badge}")

    found.update({label: MeasuredAdapter(label=label, reason=INTERRUPTED) for label in environments})
    async with asyncio.TaskGroup() as group:
        for label, environment in environments.items():
            group.create_task(measure_one(label, environment))
