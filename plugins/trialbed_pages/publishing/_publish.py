"""Publishes runs of a store."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.files import read_bytes, read_text
from trialbed.report import read_report
from trialbed.settings import data_dir as default_folder
from trialbed.settings import model_cache
from trialbed.store import StoredRun, open_store, require_frameworks
from trialbed_pages.publishing._folder import write_publication
from trialbed_pages.publishing._manifest import PublicationManifest, RunSource
from trialbed_pages.publishing._numbers import RunNumbers, numbers_of
from trialbed_pages.publishing._sources import dataset_of, source_of
from trialbed_pages.report import run_report
from trialbed_plugins.recordings import cache_there, recording_of, write_cassette


def publish(
    run_ids: Sequence[str],
    output: Path,
    *,
    about: Path | None,
    dataset: Path | None,
    store: str | None,
    data_dir: Path | None,
) -> PublicationManifest:
    """Write the folder of these runs, and return its manifest.

    Raises:
        UsageError, DataError: a run is not finished, its dataset has changed, or files cannot be read or written.
    """
    words = "" if about is None else read_text(about)
    paragraphs = tuple(" ".join(part.split()) for part in words.split("\n\n") if part.strip())
    sources: list[RunSource] = []
    numbers: list[RunNumbers] = []
    evidence: dict[str, bytes] = {}
    with open_store(store) as reader:
        for run_id in run_ids:
            run = require_frameworks(reader.run(run_id))
            _check_finished(run)
            found = dataset_of(run.config, dataset, data_dir or default_folder())
            evidence |= {name: read_bytes(path) for name, path in found.files.items()}
            recording = f"recordings/{run.run_id}.cassette"
            evidence[recording], answers = _recording(run)
            source = source_of(run.record, found, recording=recording, answers=answers)
            for info in run.frameworks:
                if info.name in source.environments:
                    evidence[source.environments[info.name]] = "\n".join([*info.packages, ""]).encode()
            evidence[f"runs/{run.run_id}.html"] = run_report(run, data_dir=data_dir).encode("utf-8", "backslashreplace")
            numbers.append(
                numbers_of(read_report(run, found.queries), found.queries, name=run.run_id, model=source.model)
            )
            sources.append(source)
    return write_publication(output, PublicationManifest(about=paragraphs, runs=tuple(sources)), numbers, evidence)


def _check_finished(run: StoredRun) -> None:
    if run.status != "finished":
        raise UsageError(
            f"run {run.run_id} is {run.status}: its figures would change; repeat its command until it is finished"
        )


def _recording(run: StoredRun) -> tuple[bytes, int]:
    """Return the recording of a run as a file, and its answers.

    Raises:
        UsageError: not every answer of its model can be recorded.
    """
    with cache_there(model_cache()) as kept:
        found = recording_of(run, kept)
    if found.cut:
        raise UsageError(
            f"run {run.run_id}: {found.cut} answers are longer than the log keeps; run it with --model-cache, and "
            "publish that run"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        write_cassette(found.cassette, path)
        return path.read_bytes(), len(found.cassette.replies)
