"""A probe, the finding that it ends in, and the report of all findings."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from trialbed.records import CONTROLLED, Json, Record
from trialbed.texts import group_by_key
from trialbed_adapter_lab.differences import shorten, show

Level = Literal["must", "should", "may", "info"]
"""The weight of a probe for an adapter that it binds. Those that demand something are called checks.

``must``: without it, numbers about the framework would be wrong.
``should``: without it, the framework is measured under other conditions than the rest.
``may``: the result is reported, and never fails.
``info``: nothing is demanded; the figure is shown.

The first two fail unless the adapter's ``deviations`` declare them as a known limitation, with a reason that every
report shows.
"""

Bound = Literal["all", "controlled"]
"""The profiles that a check binds: all, where a measurement would be unsound, or only ``controlled``, for the
properties of a framework. For an adapter that it does not bind, a check is a ``may``."""

LEVELS: tuple[Level, ...] = get_args(Level)[:-1]
"""The levels of checks."""

Outcome = Literal["passed", "failed", "skipped", "finding", "declared", "outdated", "error", "seen"]
"""The outcome of a check: ``skipped`` cannot be tried on the adapter, ``finding``: a ``may`` saw something else than
the check has it, ``declared`` failed as the adapter's deviations say it would, ``outdated`` passed although they say it
would fail (or names a check that does not exist), ``error`` could not be completed. An ``info`` ends in ``seen``."""

PROBLEMS: tuple[Outcome, ...] = ("failed", "outdated", "error")
MARKS = {
    "passed": "✓",
    "failed": "✗",
    "skipped": "○",
    "finding": "·",
    "declared": "-",
    "outdated": "✗",
    "error": "!",
    "seen": "·",
}
"""Outcome -> the character before it in text."""

FAILS = "the trial fails"
"""Prefix of the cause if a check fails because its trial failed."""

FAILS_EARLY = f"{FAILS} before it asks the model"
"""Prefix of the cause if the trial failed so early that no later check can pass."""


class CheckFailed(AssertionError):
    """The adapter fails a check. The message names the expectation and the observation.

    Args:
        seen: figures of the observation by name; by default the words of the message after ``seen:``, in one line.

    Attributes:
        cause: common to all checks that fail for it, in words; empty if it is not known.
        seen: the observation alone.
    """

    def __init__(self, message: str, cause: str = "", seen: Json = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.seen: Json = message.rpartition("; seen: ")[2].partition("\n")[0] if seen is None else seen


class NotTried(Exception):
    """A check cannot say anything about this adapter or plugin; the text says why."""


ASKED_ON = "the model is asked again after its answer"
"""The cause of what fails because the adapter, or its framework, does not end with the model's answer."""


def expect(right: bool, expected: str, seen: Any, cause: str = "") -> None:
    """Fail unless the condition holds.

    Args:
        expected: in words.
        seen: in words, or any value.
        cause: common to all checks that fail for it.

    Raises:
        CheckFailed: with both, the seen one shortened.
    """
    if not right:
        text = shorten(seen) if isinstance(seen, str) else show(seen)
        raise CheckFailed(f"expected {expected}; seen: {text}", cause)


def expect_figures(figures: dict[str, Json], right: bool, expected: str) -> Json:
    """Return figures by name; fail with them unless the condition holds.

    Raises:
        CheckFailed: with the expectation in words, and the figures.
    """
    if not right:
        text = "; ".join(f"{name}: {figure}" for name, figure in figures.items())
        raise CheckFailed(f"expected {expected}; seen: {shorten(text)}", seen=figures)
    return figures


Procedure = Callable[[Any], Coroutine[Any, Any, Json]]
"""Runs trials on a harness; returns the figure that was seen, if it has one, or raises ``CheckFailed``."""


@dataclass(frozen=True)
class Probe:
    """One observation of an adapter, with its trials, the resulting figure, and an expectation, if any.

    Attributes:
        name: unique; ``Deviation.check`` and the command line refer to it.
        level: its level for the adapters that it binds.
        summary: the observed behaviour, in a sentence.
        reason: why it matters, in a sentence.
        hint: how adapters usually pass.
        run: runs the trials and reads the figure.
        binds: the profiles that must pass.
        theme: the name of its theme.
        quick: whether ``--quick`` includes it, since it is fast and finds much.
    """

    name: str
    level: Level
    summary: str
    reason: str
    hint: str
    run: Procedure
    binds: Bound = "controlled"
    theme: str = ""
    quick: bool = False

    def level_for(self, profile: str | None) -> Level:
        """Return its weight for an adapter's profile; None is an adapter without profiles."""
        bound = self.level == "info" or self.binds == "all" or profile == CONTROLLED
        return self.level if bound else "may"


Decorator = Callable[..., Callable[[Procedure], Probe]]
"""Takes a probe's ``reason``, ``hint``, ``binds`` and ``quick``; its name and summary are the function's."""


class Theme(NamedTuple):
    """A subject of probes.

    Attributes:
        name: for ``--part``.
        title: in a sentence.
    """

    name: str
    title: str

    @property
    def must(self) -> Decorator:
        """Return a decorator that makes a function a probe without which numbers would be wrong."""
        return self._level("must", "controlled")

    @property
    def should(self) -> Decorator:
        """Return a decorator that makes a function a probe without which conditions would differ."""
        return self._level("should", "controlled")

    @property
    def may(self) -> Decorator:
        """Return a decorator that makes a function a probe that never fails an adapter."""
        return self._level("may", "all")

    @property
    def info(self) -> Decorator:
        """Return a decorator that makes a function a probe without an expectation."""
        return self._level("info", "all")

    def _level(self, level: Level, usual: Bound) -> Decorator:
        def decorate(
            *, reason: str, hint: str = "", binds: Bound = usual, quick: bool = False
        ) -> Callable[[Procedure], Probe]:
            def probe(run: Procedure) -> Probe:
                summary, _, _ = (run.__doc__ or run.__name__).strip().partition("\n")
                return Probe(run.__name__, level, summary, reason, hint, run, binds, self.name, quick)

            return probe

        return decorate


class CheckFinding(Record):
    """The outcome of one check.

    Attributes:
        level: of the check for this adapter.
        theme: of the check; empty in reports of earlier kits.
        message: the expectation and the observation, of a failure also the reason and a hint; why the check was
            skipped; empty if it passed.
        cause: common to all checks that fail for it, in words; empty if it is not known.
        seen: the figure, or an object of figures by name; of a failure the observation, in words or as an object. None
            if the probe has no figure.
        seconds: wall time.
    """

    check: str
    level: Level
    outcome: Outcome
    message: str = ""
    cause: str = ""
    seen: Json = None
    seconds: float = 0.0
    theme: str = ""

    @property
    def ok(self) -> bool:
        """An adapter may be released with it."""
        return self.outcome not in PROBLEMS

    def without_traces(self) -> CheckFinding:
        """Return the finding without times and without tracebacks, which are long and name local folders."""
        lines = self.message.strip().splitlines() or [""]
        seen = self.seen.partition('\n    File "')[0] if isinstance(self.seen, str) else self.seen
        short = {"message": lines[-1 if self.outcome == "error" else 0], "cause": "", "seconds": 0.0, "seen": seen}
        return self.model_copy(update=short)


class ConformanceReport(Record):
    """Everything that the kit found about one adapter.

    Attributes:
        framework: the driver's name, or the name of the class if it is not an installed driver.
        version: the framework's own.
        adapter, adapter_version: the distribution; empty if unknown.
        kit: the version of Trialbed that provides the probes.
        dialects: the dialects of model requests.
        findings: in the order of the checks.
    """

    framework: str
    version: str
    adapter: str = ""
    adapter_version: str = ""
    kit: str = ""
    dialects: tuple[str, ...] = ()
    findings: tuple[CheckFinding, ...] = ()

    @property
    def ok(self) -> bool:
        """The adapter conforms."""
        return all(finding.ok for finding in self.findings)

    @property
    def problems(self) -> tuple[CheckFinding, ...]:
        """Return the findings that make the adapter non-conformant."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def by_cause(self, *outcomes: Outcome) -> list[tuple[CheckFinding, ...]]:
        """Return the findings with these outcomes, grouped by cause, in the order of the checks.

        Causes that end a trial before it begins come first.
        """
        groups = group_by_key((one.cause or one.check, one) for one in self.findings if one.outcome in outcomes)
        ordered = sorted(groups.values(), key=lambda group: not group[0].cause.startswith(FAILS_EARLY))
        return [tuple(group) for group in ordered]

    def count(self, level: Level, *outcomes: Outcome) -> int:
        """Return the number of checks of a level with any of these outcomes, or all checks of the level by default."""
        return sum(
            finding.level == level and (not outcomes or finding.outcome in outcomes) for finding in self.findings
        )

    @property
    def badge(self) -> str:
        """One line: ``acme 1.2 · must 24/24 · should 14/15 (1 declared) · may 3/5 (2 findings)``."""
        levels = [f"{level} {self.tally(level)}" for level in LEVELS if self.count(level)]
        return " · ".join([f"{self.framework} {self.version}", *levels])

    def tally(self, level: Level) -> str:
        """Return how many checks of a level passed, and how many did not for another reason: ``14/15 (1 declared)``."""
        words: Iterable[Outcome] = ("skipped", "finding", "declared", "outdated", "error")
        counts = [(self.count(level, word), word) for word in words]
        apart = [f"{count} {word}{'s' * (word == 'finding' and count > 1)}" for count, word in counts if count]
        return f"{self.count(level, 'passed')}/{self.count(level)}" + (f" ({', '.join(apart)})" if apart else "")
