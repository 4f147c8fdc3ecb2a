"""The run that a verification is in the store: found or begun, locked, and ended."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trialbed.drivers import driver_info
from trialbed.errors import UsageError
from trialbed.installed import own_version
from trialbed.records import EndpointInfo, Run, RunCell, RunConfig, RunStatus
from trialbed.store import RunChanges, Store, hold_run, record_run
from trialbed_verify.rows import FileRows
from trialbed_verify.verification._queue import KeptCase, Key
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.row import RowRedaction
from trialbed_verify.verification.targets import Target, VerifyOptions


@dataclass
class VerificationRun:
    """The run of one verification.

    Attributes:
        run: as it was when this session began.
        owners: results files that are there -> the id of the run that has their rows, empty for none.
        endpoints: label -> the endpoint, as far as it is known.
        is_new: whether it began with this session.
    """

    store: Store
    run: Run
    owners: Mapping[Path, str]
    endpoints: dict[str, EndpointInfo]
    is_new: bool
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def stored_cases(self) -> dict[str, dict[Key, KeptCase]]:
        """Return the last attempt of each case that the store has, by the endpoint's label."""
        found: dict[str, dict[Key, KeptCase]] = {label: {} for label in self.endpoints}
        for one in [] if self.is_new else self.store.each_attempt_summary(self.run.run_id):
            key = int(one.key.query_id), one.key.repeat
            found[one.key.framework][key] = KeptCase(one.attempt, one.status == "answered")
        return found

    def note(self, endpoint: EndpointInfo) -> None:
        """Replace the run's record of an endpoint."""
        self.endpoints[endpoint.label] = endpoint
        self.store.update_run(self.run.run_id, endpoints=tuple(self.endpoints.values()))

    def end(self, status: RunStatus | None) -> None:
        """Note how this session ended; None if the run has nothing worth keeping."""
        if status is None:
            self.store.discard_run(self.run.run_id)
            return
        seconds = (datetime.now(UTC) - self.began).total_seconds()
        self.store.update_run(self.run.run_id, status=status, overall_time=self.run.overall_time + seconds)


@asynccontextmanager
async def open_run(
    store: Store, cases: TestSet, targets: Sequence[Target], options: VerifyOptions
) -> AsyncIterator[VerificationRun]:
    """Find the run that the command continues, or begin one, and hold its lock.

    Raises:
        UsageError: another process is at it, or a results file holds what no stored run has.
    """
    labels = endpoint_labels(targets)
    endpoints = [endpoint_info(target, label, cases, options) for label, target in zip(labels, targets, strict=True)]
    digest = _digest(cases, endpoints)

    def find() -> Run | None:
        return _last(store, cases, endpoints) if options.incremental else store.unfinished_run(digest)

    async with hold_run(store, digest, find) as found:
        owners = _owners_of_files(store, targets, fresh=options.fresh)
        if found is not None and options.fresh:
            store.discard_run(found.run_id)
            found = None
        known = {endpoint.label: endpoint for endpoint in found.endpoints} if found else {}
        merged = tuple(_merge(endpoint, known.get(endpoint.label)) for endpoint in endpoints)
        own = RunChanges(endpoints=merged)
        run = record_run(store, found, _config(cases, merged), digest, tags=options.tags, note=options.note, own=own)
        yield VerificationRun(store, run, owners, {one.label: one for one in run.endpoints}, is_new=found is None)


def endpoint_info(target: Target, label: str, cases: TestSet, options: VerifyOptions) -> EndpointInfo:
    """Describe a target, its test set, configuration, drivers and options, without secrets, before anything is sent."""
    drivers = {"vendor": ("vendors", target.driver_name), "model_adapter": ("model_adapters", target.adapter_name)}
    provenance: dict[str, Any] = {
        "trialbed_version": own_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "test_set": cases.path.name,
        "test_set_digest": cases.digest,
        "test_set_cases": len(cases),
        "bad_lines": [{"line": line.index, "reason": line.reason} for line in cases.bad_lines],
        "configuration": target.configuration(),
        "configuration_digest": target.digest(),
        "drivers": {what: _driver(*named) for what, named in drivers.items()},
        "proxy": target.proxy.url if target.proxy else None,
        "trials": options.trials_of(target),
        "request_concurrency": options.concurrency_at(target),
        "vendor_concurrency": options.vendor_concurrency,
        "prices": dict(target.prices) or None,
        "timeout_s": options.timeout,
        "retries": options.retries,
    }
    info = EndpointInfo(
        label=label,
        model=target.settings.model,
        vendor=target.name,
        is_baseline=target.is_baseline,
        trials=provenance["trials"],
        configuration=provenance["configuration_digest"],
        provenance=provenance,
        prices=dict(target.prices),
        results=str(target.output.resolve()),
    )
    return RowRedaction(target.secrets).record(info)


def _driver(kind: str, name: str) -> str | None:
    """Return a driver's name with the distribution that provides it."""
    if not name:
        return None
    found = driver_info(kind, name)
    return f"{name} ({found.distribution} {found.version})"


def endpoint_labels(targets: Sequence[Target]) -> list[str]:
    """Return the names of endpoints in their run: those of the vendors, with the model where several are verified."""
    several = len({target.settings.model for target in targets}) > 1
    return [f"{target.settings.model}@{target.name}" if several else target.name for target in targets]


def _merge(endpoint: EndpointInfo, known: EndpointInfo | None) -> EndpointInfo:
    """Return an endpoint with the trials beyond those asked for now, and the written files, that the run has of it."""
    if known is None:
        return endpoint
    return endpoint.model_copy(update={"trials": max(endpoint.trials, known.trials), "exports": known.exports})


def _config(cases: TestSet, endpoints: Sequence[EndpointInfo]) -> RunConfig:
    settings = {"dataset": str(cases.path), "repeat": max(one.trials for one in endpoints), "judge": "", "selector": ""}
    return RunConfig(
        **settings,
        cells=tuple(RunCell(label=one.label, framework=one.label, model=one.model) for one in endpoints),
        adapter_versions={},
        test_set=cases.path.name,
        dataset_digest=cases.digest,
        query_ids=tuple(cases.indices),
        trialbed_version=own_version(),
    )


def _digest(cases: TestSet, endpoints: Sequence[EndpointInfo]) -> str:
    """Return the SHA-256 of a command's subjects; the command continues the unfinished run with the same digest."""
    subjects = [[one.label, one.configuration, one.trials, one.results] for one in endpoints]
    text = json.dumps(["endpoints", cases.digest, subjects], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _last(store: Store, cases: TestSet, endpoints: Sequence[EndpointInfo]) -> Run | None:
    """Return the last run of this test set and these endpoints whose results are in the same files."""
    wanted = {(one.label, one.configuration, one.results) for one in endpoints}
    for run in store.runs(limit=None):
        found = {(one.label, one.configuration, one.results) for one in run.endpoints}
        if run.config.dataset_digest == cases.digest and found and found <= wanted:
            return run
    return None


def _owners_of_files(store: Store, targets: Sequence[Target], *, fresh: bool) -> dict[Path, str]:
    """Return the run of each results file that is there; empty where no stored run has it.

    Raises:
        UsageError: a file has answers that would be lost with it, as no stored run has them.
    """
    there = [target.output for target in targets if target.output.exists() and target.output.stat().st_size]
    owners: dict[str, str] = {}
    for run in store.runs(limit=None) if there else ():
        for endpoint in run.endpoints:
            owners = dict.fromkeys(endpoint.exports, run.run_id) | owners
    found = {path: owners.get(FileRows(path).digest(), "") for path in there}
    for path in [] if fresh else [path for path, run_id in found.items() if not run_id]:
        raise UsageError(
            f"{path} holds results that the store does not have; name another file with --output, or another "
            "folder with --output-dir where --config names the vendors, or replace it with --fresh"
        )
    return found
