"""Publishes runs of a store."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from trialbed import __version__
from trialbed.errors import DataError, UsageError
from trialbed.files import read_bytes, read_text, temporary_folder
from trialbed.plugins import installed_listeners
from trialbed.report import read_report, run_title
from trialbed.settings import data_dir as default_folder
from trialbed.store import StoredRun, open_store
from trialbed.views import html_page
from trialbed_pages.files import FilePage
from trialbed_pages.publishing._folder import read_numbers, write_publication
from trialbed_pages.publishing._manifest import (
    NAME,
    PublicationManifest,
    PublishedPage,
    RunSource,
    check_unchanged,
    digest_of,
    read_manifest,
)
from trialbed_pages.publishing._names import folder_mask
from trialbed_pages.publishing._numbers import RunNumbers, numbers_of
from trialbed_pages.publishing._replayed import replay_variables
from trialbed_pages.publishing._sources import PublishedDataset, dataset_of, public_config, source_of
from trialbed_pages.publishing._traces import request_digests
from trialbed_pages.report import run_report
from trialbed_plugins.recordings import recording_of, write_cassette
from trialbed_verify.pages import file_parts, files_title


@dataclass
class _Collected:
    about: list[str] = field(default_factory=list)
    sources: list[RunSource] = field(default_factory=list)
    pages: dict[str, PublishedPage] = field(default_factory=dict)
    numbers: list[RunNumbers] = field(default_factory=list)
    evidence: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, content: bytes) -> None:
        if self.evidence.setdefault(name, content) != content:
            raise UsageError(f"two runs have a file {name}, and not the same one; publish them in two folders")

    def add_page(self, name: str, title: str, text: str, *sources: str) -> None:
        mask, file = folder_mask(), f"runs/{name}.html"
        self.add(file, mask(text).encode("utf-8", "backslashreplace"))
        page = PublishedPage(title=mask(title), file=file, sources=sources, trialbed=__version__)
        self.pages.setdefault(file, page)


def publish(
    subjects: Sequence[str],
    output: Path,
    *,
    about: Path | None,
    dataset: Path | None,
    include: Sequence[Path] = (),
    store: str | None,
    data_dir: Path | None,
) -> PublicationManifest:
    """Write the folder of these runs, results files and published folders, and return its manifest.

    Args:
        subjects: runs by their names, and by their paths published folders, and results as ``bench view`` shows them.
        include: files that the code of the dataset reads.

    Raises:
        UsageError, DataError: a run is not finished, its dataset has changed or cannot be loaded from what would be
            published, a published file was changed, or files cannot be read or written.
    """
    found = _Collected()
    if about is not None:
        found.about += [" ".join(part.split()) for part in read_text(about).split("\n\n") if part.strip()]
    files = list[Path]()
    for subject in subjects:
        if (Path(subject) / NAME).is_file():
            _add_folder(found, Path(subject), about=about is None)
        elif Path(subject).exists():
            files.append(Path(subject))
        else:
            with open_store(store) as reader:
                _add_run(found, reader.run(subject), dataset, include, data_dir)
    _add_files(found, FilePage(files))
    if not (found.sources or found.pages):
        raise UsageError(f"{', '.join(subjects)}: there is nothing to publish")
    names = [source.name for source in found.sources]
    if len({*names}) < len(names):
        raise UsageError("the same run is named twice; name each once")
    pages = tuple(found.pages.values())
    manifest = PublicationManifest(about=tuple(found.about), runs=tuple(found.sources), pages=pages)
    return write_publication(output, manifest, found.numbers, found.evidence)


def _add_folder(found: _Collected, folder: Path, *, about: bool) -> None:
    manifest = read_manifest(folder)
    check_unchanged(folder, manifest)
    for name in manifest.kept:
        found.add(name, read_bytes(folder / name))
    found.numbers += read_numbers(folder, manifest)
    found.sources += manifest.runs
    found.pages |= {page.file: page for page in manifest.pages}
    found.about += manifest.about if about else ()


def _add_files(found: _Collected, pages: FilePage) -> None:
    pages.check()
    for path in pages.empty_files():
        click.echo(f"{path} has no rows, so it is on no page", err=True)
    if files := pages.files():
        sources, title = [f"{path.name} ({digest_of(path)})" for path in files], files_title(files)
        name = f"verification-{hashlib.sha256(' '.join(sources).encode()).hexdigest()[:8]}"
        found.add_page(name, title, html_page(title, file_parts(files)), *sources)


def _add_run(
    found: _Collected, run: StoredRun, file: Path | None, include: Sequence[Path], data_dir: Path | None
) -> None:
    if run.status != "finished":
        hint = "its figures would change; repeat its command until it is finished"
        raise UsageError(f"run {run.run_id} is {run.status}: {hint}")
    if run.record.kind == "endpoints":
        began = f"run {run.run_id}, began {run.created_at:%Y-%m-%d %H:%M} UTC"
        found.add_page(run.run_id, run_title(run.record), run_report(run), began)
        return
    data = data_dir or default_folder()
    dataset = dataset_of(run.config, file, data, include)
    recording = f"recordings/{run.run_id}.cassette"
    content, answers = _recording(run)
    source = source_of(run.record, dataset, recording=recording, answers=answers)
    if not source.cannot:
        _check_loads(dataset, run.config.dataset_digest, data)
    found.add(recording, content)
    mask = folder_mask()
    for name, path in dataset.files.items():
        found.add(name, read_bytes(path))
    for info in run.frameworks:
        if info.name in source.environments:
            found.add(source.environments[info.name], mask("\n".join([*info.packages, ""])).encode())
    public = {"config": public_config(run.config, dataset.name), "annotations": ()}
    shown = replace(run, record=run.record.model_copy(update=public))
    page = run_report(shown, data_dir=data_dir, queries=dataset.queries)
    found.add(f"runs/{run.run_id}.html", mask(page).encode("utf-8", "backslashreplace"))
    report = read_report(run, dataset.queries, installed_listeners())
    found.numbers.append(numbers_of(report, dataset.queries, request_digests(run), name=run.run_id, model=source.model))
    found.sources.append(source)


def _check_loads(dataset: PublishedDataset, digest: str, data_dir: Path) -> None:
    """Check that a dataset in code loads unchanged from its published files alone, as in a replay."""
    if dataset.name not in dataset.files or dataset.name.endswith(".json"):
        return
    with temporary_folder() as work:
        for name, path in dataset.files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(read_bytes(path))
        command = [sys.executable, "-m", "trialbed", "data", "show", dataset.name, "--json"]
        command += ["--data-dir", str(data_dir)]
        shown = subprocess.run(command, cwd=work, env=replay_variables(os.environ), capture_output=True, check=False)
    if shown.returncode or json.loads(shown.stdout)["digest"] != digest:
        reason = shown.stderr.decode(errors="replace").strip().removeprefix("Error: ") or "its tasks are others there"
        raise DataError(
            f"{dataset.files[dataset.name]} cannot be loaded from its published files alone: {reason}; add each file "
            "that it reads with --include FILE, and find it in the code by Path(__file__)"
        )


def _recording(run: StoredRun) -> tuple[bytes, int]:
    """Return the recording of a run as a file, and its number of answers.

    Raises:
        UsageError: not every answer of its model can be recorded.
    """
    cassette, left_out = recording_of(run)
    if left_out["cut"]:
        raise UsageError(f"run {run.run_id}: {left_out['cut']} requests or answers are longer than the log keeps")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        write_cassette(cassette, path)
        return path.read_bytes(), len(cassette.replies)
