"""A finished ``bench fidelity``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support.bench import Finished

from trialbed_adapter_lab.fidelity import FidelityReport, FrameworkFidelity


@dataclass(frozen=True)
class Measured(Finished):
    """A measurement that has ended."""

    @property
    def report(self) -> FidelityReport:
        """What ``--json`` printed."""
        return FidelityReport.model_validate_json(self.out)

    def of(self, framework: str) -> FrameworkFidelity:
        """What was observed of one framework."""
        (found,) = [one for one in self.report.frameworks if one.framework == framework]
        return found


Fidelity = Callable[..., Measured]
"""Runs ``bench fidelity`` on frameworks, with ``options``, in an empty folder; ``code`` is the right exit code."""
