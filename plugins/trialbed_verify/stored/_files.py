"""The results files of stored verifications, for all that reads such files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.records import EndpointInfo
from trialbed.store import StoredRun, StoreReader, open_store, run_kind
from trialbed_verify.verification.results import summary, write_rows, write_summary

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def named_files(names: Iterable[str], store: str | None, folder: Path) -> list[Path]:
    """The results files that are meant: files by their paths, and those of stored verifications by their ids.

    Args:
        names: ``ID`` is all vendors of a run, its baseline first, and ``ID/VENDOR`` one of them.
        folder: where results are written that are in no file any more.

    Raises:
        UsageError: a run has no such vendor.
    """
    return [path for name in names for path in _files_of(name, store, folder)]


def result_files(run: StoredRun, folder: Path, labels: Iterable[str] | None = None) -> list[Path]:
    """The results file of each endpoint of a run: the one that was written, if it is as it was, or else a new one.

    Args:
        folder: where new files are written, each with its summary beside it.
        labels: of the endpoints; None for all, the baseline first.
    """
    known = {endpoint.label: endpoint for endpoint in run.record.endpoints}
    chosen = sorted(known, key=lambda label: not known[label].is_baseline) if labels is None else list(labels)
    return [_file(run, known[label], folder) for label in chosen]


def _files_of(name: str, store: str | None, folder: Path) -> Iterator[Path]:
    if Path(name).exists() or run_kind(name, store) != "endpoints":
        yield Path(name)
        return
    with open_store(store) as reader:
        run, label = _find(reader, name)
        yield from result_files(run, folder, None if label is None else [label])


def _find(reader: StoreReader, name: str) -> tuple[StoredRun, str | None]:
    run_id, _, label = name.partition("/")
    run = reader.run(run_id)
    if label and label not in run.config.frameworks:
        raise UsageError(f"run {run.run_id} has no vendor {label}; it has {', '.join(run.config.frameworks)}")
    return run, label or None


def _file(run: StoredRun, endpoint: EndpointInfo, folder: Path) -> Path:
    written = Path(endpoint.results)
    if run.status != "running" and endpoint.exports and _digest(written) == endpoint.exports[-1]:
        return written
    stem = UNSAFE.sub("_", f"{run.run_id}_{endpoint.label}")
    path = folder / f"{stem}_results.jsonl"
    tally = write_rows(run, endpoint.label, path)
    write_summary(folder / f"{stem}_summary.json", summary(endpoint, tally))
    return path


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
