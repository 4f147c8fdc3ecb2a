"""Run the checks of a plugin's kind, and report on them as on an adapter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping

from trialbed_adapter_lab.conformance import Check, CheckFinding, ConformanceReport, checks_of, try_out
from trialbed_adapter_lab.plugin_kit import _datasets, _executors, _judges, _models, _scorers, _selectors, _simulators
from trialbed_adapter_lab.plugin_kit._check import PluginSubject

KINDS: Mapping[str, str] = {
    "scorer": "plugins",
    "judge": "judges",
    "selector": "selectors",
    "dataset": "datasets",
    "simulator": "simulators",
    "model": "models",
    "executor": "executors",
}
"""The word for one plugin -> its kind; ``plugins`` are those with hooks, such as scorers."""

THEMES = (_scorers, _judges, _selectors, _datasets, _simulators, _models, _executors)

PLUGIN_CHECKS: Mapping[str, tuple[Check, ...]] = {
    kind: tuple(sorted(checks_of(theme), key=lambda check: check.level == "may"))
    for kind, theme in zip(KINDS.values(), THEMES, strict=True)
}
"""Kind of driver -> its checks, those last that are only reported."""

FITS = "fits_its_contract"
"""The check that all others need: it can be loaded, has every method of its contract, with its parameters."""


def check_plugin(
    subject: PluginSubject, only: Collection[str] = (), *, progress: Callable[[CheckFinding], None] | None = None
) -> ConformanceReport:
    """Run checks on a plugin, in this process.

    Args:
        only: names of checks; empty for all of its kind.
        progress: called with each finding as soon as it is there.
    """
    findings = [CheckFinding(check=FITS, level="must", outcome="passed")] if not only else []
    try:
        for check in PLUGIN_CHECKS[subject.kind]:
            if not only or check.name in only:
                findings.append(_run(check, subject))
                if progress is not None:
                    progress(findings[-1])
    finally:
        subject.loop.end()
    return ConformanceReport(
        framework=subject.name,
        version=subject.version,
        adapter=subject.distribution,
        adapter_version=subject.version,
        findings=tuple(findings),
    )


def misfit_report(name: str, message: str) -> ConformanceReport:
    """Return the report on a plugin that cannot be loaded, or departs from its contract; the message says which."""
    finding = CheckFinding(
        check=FITS, level="must", outcome="failed", message=f"{message}\nwhy: nothing else can be tried."
    )
    return ConformanceReport(framework=name, version="", findings=(finding,))


def _run(check: Check, subject: PluginSubject) -> CheckFinding:
    begun = time.perf_counter()
    tried = try_out(lambda: asyncio.run(check.run(subject)))
    if tried.outcome == "failed":
        advice = f"{tried.message}\nwhy: {check.reason}\nhint: {check.hint}"
        tried = tried._replace(outcome="finding") if check.level == "may" else tried._replace(message=advice)
    return CheckFinding.of(check, check.level, tried, begun)
