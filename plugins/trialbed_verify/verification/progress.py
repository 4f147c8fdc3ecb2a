"""Progress of a verification on stderr."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from trialbed.cli.progress import PlainProgress, followed, new_display
from trialbed.records import Run, TrialResult
from trialbed.texts import number_of
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.targets import Target


def verify_progress() -> AbstractContextManager[EndpointProgress]:
    """Return the progress of a verification; if the command ends early, it says how to continue."""
    return followed(EndpointProgress(new_display()))


BYTES_PER_TOKEN = 4
"""Rough number of bytes per token of a request."""


class EndpointProgress:
    """Shows how many requests to each endpoint are complete, and how many failed."""

    def __init__(self, display: PlainProgress) -> None:
        self._display = display
        self._totals: dict[Target, int] = {}
        self._done: Counter[Target] = Counter()
        self._failures: Counter[Target] = Counter()

    def start(self, run: Run, trials: Mapping[Target, int], cases: TestSet) -> None:
        """Print the id of the run and the cost of its requests."""
        self._display.write(f"run {run.run_id}: {', '.join(_cost(trials, cases))}")

    def begin(self, target: Target, total: int, kept: int) -> None:
        """Name the target, its number of requests and its results file."""
        self._totals[target], self._done[target] = total, kept
        again = f", {kept} of them already answered" if kept else ""
        self._display.write(f"{_label(target)}: {number_of(total, 'request')}{again} -> {target.output}")
        self._display.begin(_label(target), total, kept)

    def advance(self, target: Target, result: TrialResult) -> None:
        """Count a completed case."""
        self._done[target] += 1
        self._failures[target] += result.failed
        failed = f" {self._failures[target]} failed" if self._failures[target] else ""
        self._display.move(_label(target), self._done[target], self._totals[target], failed=failed)

    def down(self, target: Target, left: int, failure: str | None) -> None:
        """Say that sending to a target was stopped."""
        why = "its driver failed" if failure else "every request fails"
        unsent = f"{number_of(left, 'request')} not sent. The same command sends them."
        self._display.write(f"{_label(target)}: {why}; {unsent}")

    def end(self) -> None:
        """Close the display."""
        self._display.end()

    def print_resume_hint(self) -> None:
        """Say how many results are kept, and how to resume."""
        if done := self._done.total():
            kept = f"{number_of(done, 'request')} {'is' if done == 1 else 'are'} complete and kept"
            self._display.write(f"{kept}; the same command continues from there.")


def _cost(trials: Mapping[Target, int], cases: TestSet) -> Iterator[str]:
    """Yield the number of requests, and about how many tokens they have, at the price of the configuration."""
    yield number_of(sum(trials.values()) * len(cases), "request")
    tokens = cases.size / BYTES_PER_TOKEN
    yield f"about {tokens * sum(trials.values()):,.0f} prompt tokens"
    prices = [count * tokens * target.prices.get("input", math.nan) / 1e6 for target, count in trials.items()]
    if math.isfinite(sum(prices)):
        yield f"${sum(prices):,.2f} at your prices, answers on top"


def _label(target: Target) -> str:
    return f"{target.settings.model} at {target.name}"
