"""The mutation score: how many mutants the kit reports, and of how many it names the cause first."""

from __future__ import annotations

import gc
import json
import os
import warnings
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

from support.mutants import MUTANTS, Mutant
from support.mutants._causes import names_cause

from trialbed_adapter_lab import CHECKS, Probe, check_adapter
from trialbed_adapter_lab.harness import Harness

SHORT = 0.3
"""Seconds in which what a defect keeps from happening is waited for."""

RECORD = Path(__file__).with_name("record.json")
"""The verdict on each mutant when it was last tried; the docs show it."""


@dataclass(frozen=True)
class Verdict:
    """The report of the kit on one mutant.

    Attributes:
        cause: the fault of the adapter, in words.
        failed: the checks that fail, in the order of the report.
        found: those that report a finding.
        named: whether the first of them names the cause.
    """

    name: str
    cause: str
    failed: list[str]
    found: list[str]
    named: bool

    @property
    def first(self) -> str:
        """The check that heads the report; empty where it reports nothing."""
        return next(iter((*self.failed, *self.found)), "")


def recorded_verdicts() -> dict[str, Verdict]:
    """Read the verdict on each mutant, by its name, in the order of the themes."""
    return {row["name"]: Verdict(**row) for row in json.loads(RECORD.read_bytes())}


@contextmanager
def hurried() -> Iterator[None]:
    """Wait less for what a defect keeps from happening."""
    kit = "trialbed_adapter_lab"
    with (
        patch(f"{kit}.probes.limits.PROMPT", SHORT),
        patch(f"{kit}.probes.hygiene.HELD_BACK", SHORT),
        patch(f"{kit}.probes.hygiene.GATHERING", SHORT),
        patch(f"{kit}.harness.wait_until.__defaults__", (SHORT,)),
        patch(f"{kit}.harness.Barrier.__init__.__defaults__", (SHORT,)),
    ):
        yield


def in_a_hurry(check: Probe) -> Probe:
    """The check, which waits less."""

    async def run(harness: Harness) -> None:
        with hurried():
            await check.run(harness)

    return replace(check, run=run)


def judge(mutant: type[Mutant], to_fail: Collection[str] = ()) -> Verdict:
    """Run the whole kit on a mutant.

    Args:
        to_fail: the names of checks that wait less. The others have their patience: on a machine that has much else to
            do they would fail as well.
    """
    checks = [in_a_hurry(check) if check.name in to_fail else check for check in CHECKS]
    before = dict(os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check_adapter(mutant, checks, profile="controlled")
        for name in set(os.environ) - set(before):
            del os.environ[name]
        mutant.forget()
        gc.collect()
    failed = [finding.check for group in report.by_cause("failed", "error") for finding in group]
    found = [finding.check for group in report.by_cause("finding") for finding in group]
    named = names_cause(mutant.__name__, next(iter((*failed, *found)), ""))
    return Verdict(mutant.__name__, mutant.cause, failed, found, named)


def judge_named(name: str, to_fail: Collection[str] = ()) -> Verdict:
    """Run the whole kit on the mutant of this name: the classes are made, and cannot be sent to another process."""
    return judge(next(mutant for mutant in MUTANTS if mutant.__name__ == name), to_fail)


def judge_all(names: Iterable[str], jobs: int = 2) -> Iterator[Verdict]:
    """Run the kit on many, in processes that are forked from this one; yields each as soon as it is judged."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for judged in as_completed([pool.submit(judge_named, name) for name in names]):
            yield judged.result()
