"""A finished ``bench fidelity``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from trialbed.fidelity import FidelityReport, FrameworkFidelity


class Measured:
    """What the command printed, and how it ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

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
