"""Run checks on one adapter, in one event loop and one harness, as a worker runs trials."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from itertools import chain
from typing import Any, Self, get_args

from trialbed.contracts import BaseAgent
from trialbed.records import Deviation, Json, framework_profile
from trialbed.tools import ToolClient
from trialbed_adapter_lab.harness import (
    BLOCKED,
    Harness,
    LoopBlocked,
    NetworkWatch,
    PassingLoop,
    like_a_worker,
    named_agent,
    watchdog,
)
from trialbed_adapter_lab.probe import (
    ASKED_ON,
    FAILS_EARLY,
    CheckFailed,
    CheckFinding,
    ConformanceReport,
    Level,
    NotTried,
    Probe,
)

SETTLE = 1.0
"""Seconds for cancelled leaked tasks to end."""


HINTS = {
    FAILS_EARLY: "Fix what ended the trial first; only then does this check say something about the adapter.",
    ASKED_ON: "Run the framework's agent once, and return the model's answer; look for a second run, a summary or a "
    "last word.",
}
"""The beginning of a cause -> a better hint than the check's own."""


class Kit:
    """Runs checks on one adapter. Use it as a context manager; not from a running event loop.

    While it is open, the process has an environment like a worker's, and every contacted address
    is noted.

    Args:
        agent: the name of the adapter's entry point, which is loaded, or its class.
        checks: all checks that the adapter's declarations may name.
        profile: the adapter's; by default the one in its name.
        known: deviations in addition to the declared ones.

    Attributes:
        agent_class, profile: the adapter's.
        report: about the adapter, without findings.

    Raises:
        DriverError: the entry point does not exist, or cannot be loaded.
    """

    def __init__(
        self,
        agent: str | type[BaseAgent],
        checks: Iterable[Probe],
        profile: str | None = None,
        known: Sequence[Deviation] = (),
    ) -> None:
        with ExitStack() as stack:
            stack.enter_context(like_a_worker())
            network = stack.enter_context(NetworkWatch())
            self.agent_class, names = named_agent(agent)
            self.profile = profile or framework_profile(names["framework"])
            self.report = ConformanceReport(
                version=self.agent_class.framework_version(), kit=version("trialbed"), **names
            )
            self._deviations = (*self.agent_class.deviations, *known)
            self._checks = {check.name: check for check in checks}
            # With a factory, the runner does not change the thread's current loop.
            self._runner = asyncio.Runner(loop_factory=PassingLoop)
            stack.callback(self._runner.close)
            self._runner.get_loop().set_default_executor(_Threads())
            client = ToolClient()
            stack.callback(lambda: self._runner.run(client.aclose()))
            self._harness = stack.enter_context(Harness(self.agent_class, network))
            self._harness.client = client
            self.close = stack.pop_all().close

    @property
    def dialects(self) -> tuple[str, ...]:
        """Return the dialects of all model requests so far."""
        return self._harness.dialects

    def run(self, check: Probe) -> CheckFinding:
        """Run one check; every error of it is an outcome."""
        begun = time.perf_counter()
        self._harness.oracle.about = check.name
        found: dict[str, Any]
        try:
            found = {"outcome": "passed", "seen": self._watch(check)}
        except CheckFailed as failed:
            found = {"outcome": "failed", "message": str(failed), "cause": failed.cause, "seen": failed.seen}
        except NotTried as reason:
            found = {"outcome": "skipped", "message": f"not tried: {reason}", "cause": f"not tried: {reason}"}
        except Exception as error:  # noqa: BLE001 - any error of a check is reported with it
            found = {"outcome": "error", "message": "".join(traceback.format_exception(error))}
        found |= {"level": check.level_for(self.profile), "seconds": round(time.perf_counter() - begun, 3)}
        return self._with_declarations(check, CheckFinding(check=check.name, theme=check.theme, **found))

    def check_declarations(self) -> list[CheckFinding]:
        """Return a finding for each declaration that names an unknown check."""
        return [
            CheckFinding(
                check=deviation.check,
                level="should",
                outcome="outdated",
                message=f"deviations declares {deviation.check!r} ({deviation.text}), but no check has this name; "
                f"correct it, or leave it empty if no check covers the deviation",
            )
            for deviation in self._deviations
            if deviation.check and deviation.check not in self._checks
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _watch(self, check: Probe) -> Json:
        try:
            with watchdog(self._runner.get_loop(), BLOCKED):
                return self._runner.run(self._run(check))
        except LoopBlocked as blocked:
            where = "".join(traceback.format_tb(blocked.__traceback__)[-3:])
            expected = f"expected the event loop to stay free; seen: it was blocked for {BLOCKED:g} s in\n{where}"
            raise CheckFailed(expected, "the event loop is blocked") from blocked

    async def _run(self, check: Probe) -> Json:
        before = asyncio.all_tasks()
        try:
            return await check.run(self._harness)
        finally:
            self._harness.clear()
            await _cancel_tasks(asyncio.all_tasks() - before)

    def _with_declarations(self, check: Probe, finding: CheckFinding) -> CheckFinding:
        """Return the finding adjusted to the adapter's declarations; failures get advice."""
        declared = next((item for item in self._deviations if item.check == check.name), None)
        changes: dict[str, Json] = {}
        match finding.outcome:
            case "passed" if finding.level == "info":
                changes = {"outcome": "seen"}
            case "failed" if finding.level == "info" or (finding.level == "may" and declared is None):
                changes = {"outcome": "finding"}
            case "failed" if declared is not None:
                upstream = f" ({declared.upstream})" if declared.upstream else ""
                changes = {"outcome": "declared", "message": f"{declared.text}{upstream}\n{finding.message}"}
            case "failed":
                hints = (hint for beginning, hint in HINTS.items() if finding.cause.startswith(beginning))
                changes = {"message": f"{finding.message}\nwhy: {check.reason}\nhint: {next(hints, check.hint)}"}
            case "passed" if declared is not None:
                message = (
                    f"deviations declares {check.name!r} ({declared.text}), but the check passes: the declaration is "
                    f"no longer true; remove it"
                )
                changes = {"outcome": "outdated", "message": message, "seen": None}
        return finding.model_copy(update=changes)


def check_adapter(
    agent: str | type[BaseAgent],
    checks: Iterable[Probe] | None = None,
    *,
    profile: str | None = None,
    level: Level = "may",
    known: Sequence[Deviation] = (),
    progress: Callable[[CheckFinding], None] | None = None,
) -> ConformanceReport:
    """Run checks on an adapter, in this process.

    Args:
        agent: the name of the adapter's entry point, or its class.
        checks: all by default, including ``info`` probes at that level.
        profile: the adapter's; by default the one in its name.
        level: only checks of this level and above.
        known: deviations in addition to the declared ones.
        progress: called immediately with each finding.

    Raises:
        DriverError: the entry point does not exist, or cannot be loaded.
    """
    from trialbed_adapter_lab.probes import PROBES

    levels = get_args(Level)[: get_args(Level).index(level) + 1]
    findings: list[CheckFinding] = []
    with Kit(agent, PROBES, profile, known) as kit:
        chosen = [check for check in (PROBES if checks is None else checks) if check.level_for(kit.profile) in levels]
        for finding in chain(map(kit.run, chosen), kit.check_declarations()):
            findings.append(finding)
            if progress is not None:
                progress(finding)
        return kit.report.model_copy(update={"findings": tuple(findings), "dialects": kit.dialects})


class _Threads(ThreadPoolExecutor):
    """The loop's threads; shutdown does not wait for threads that an adapter still occupies."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the base's
        super().shutdown(wait=False, cancel_futures=cancel_futures)


async def _cancel_tasks(tasks: set[asyncio.Task[object]]) -> None:
    """Cancel the remaining tasks of a check, like a worker between trials."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=SETTLE)
