"""Targets that are asked at two concurrencies, to see what load does to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trialbed.errors import UsageError
from trialbed_verify.verification.targets._targets import Target, VerifyOptions

KINDS = ("_results", "_summary")
"""Ends of the names of files; what is read by such a name stays readable."""


def under_load(targets: Sequence[Target], concurrency: int, options: VerifyOptions) -> list[Target]:
    """Return each target, and behind it the same one with more requests in flight.

    Raises:
        UsageError: it is no load beside the usual concurrency, or the two would be asked at the same time.
    """
    if options.vendor_concurrency > 1:
        raise UsageError("--load needs vendors to take turns; leave out --vendor-concurrency")
    usual = max(options.concurrency_at(target) for target in targets)
    if concurrency <= usual:
        raise UsageError(f"--load {concurrency} is no more than the usual concurrency of {usual}")
    return [one for target in targets for one in _pair(target, concurrency)]


def _pair(target: Target, concurrency: int) -> Iterator[Target]:
    yield target
    yield replace(
        target,
        name=f"{target.name}@{concurrency}",
        is_baseline=False,
        load_of=target.name,
        concurrency=concurrency,
        output=_beside(target.output, concurrency),
        summary=_beside(target.summary, concurrency),
    )


def _beside(path: Path, concurrency: int) -> Path:
    kind = next((kind for kind in KINDS if path.stem.endswith(kind)), "")
    return path.with_name(f"{path.stem.removesuffix(kind)}_at_{concurrency}{kind}{path.suffix}")
