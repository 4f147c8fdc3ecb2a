"""What the kit found about an adapter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from trialbed.records import Record
from trialbed_adapter_kit._check import LEVELS, Level

Outcome = Literal["passed", "failed", "declared", "outdated", "error"]
"""How a check ended: ``declared`` failed as the adapter's capabilities say it would, ``outdated`` passed although
they say it would fail (or names no check), ``error`` could not be completed."""

PROBLEMS = ("failed", "outdated", "error")


class Finding(Record):
    """The outcome of one check.

    Attributes:
        message: what was expected and seen, why it matters, and what to do; empty if the check passed.
        seconds: wall time.
    """

    check: str
    level: Level
    outcome: Outcome
    message: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether an adapter may be released with it."""
        return self.outcome not in PROBLEMS or (self.level == "may" and self.outcome == "failed")


class Report(Record):
    """Everything that the kit found about one adapter.

    Attributes:
        framework: the driver's name, or the class's where it is no installed driver.
        version: the framework's own.
        adapter, adapter_version: the distribution; empty where there is none.
        findings: in the order of the checks.
    """

    framework: str
    version: str
    adapter: str = ""
    adapter_version: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(finding.ok for finding in self.findings)

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that must be dealt with."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def count(self, level: Level, *outcomes: Outcome) -> int:
        """How many checks of a level ended so; without outcomes, how many there were."""
        return sum(
            finding.level == level and (not outcomes or finding.outcome in outcomes) for finding in self.findings
        )

    @property
    def badge(self) -> str:
        """One line: ``acme 1.2 · must 24/24 · should 14/15 (1 declared) · may 3/5``."""
        levels = [self._badge(level) for level in LEVELS if self.count(level)]
        return " · ".join([f"{self.framework} {self.version}", *levels])

    def _badge(self, level: Level) -> str:
        words: Iterable[Outcome] = ("declared", "outdated", "error")
        apart = [f"{self.count(level, word)} {word}" for word in words if self.count(level, word)]
        return f"{level} {self.count(level, 'passed')}/{self.count(level)}" + (
            f" ({', '.join(apart)})" if apart else ""
        )
