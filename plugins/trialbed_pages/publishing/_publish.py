"""Publishes runs of a store, with their settings as arguments, their datasets, and obstacles to reproducing them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

import click

from trialbed import __version__
from trialbed.catalogs import open_dataset, run_queries
from trialbed.contracts import Dataset
from trialbed.drivers import list_drivers
from trialbed.errors import DataError, UsageError
from trialbed.files import read_bytes, read_text, temporary_folder
from trialbed.models import judge_drivers
from trialbed.plugins import installed_listeners
from trialbed.preparation import NO_OBJECTS
from trialbed.records import FrameworkInfo, Query, Run, RunConfig, framework_name
from trialbed.report import read_report, run_title
from trialbed.settings import data_dir as default_folder
from trialbed.store import StoredRun, open_store
from trialbed.views import html_page
from trialbed.wire.addresses import split_address
from trialbed_pages.files import FilePage
from trialbed_pages.publishing._folder import read_numbers, write_publication
from trialbed_pages.publishing._manifest import (
    AGAINST,
    ASKING,
    DATASETS,
    FRAMEWORK,
    HERE,
    MARGIN,
    NAME,
    QUERY,
    PublicationManifest,
    PublishedPage,
    RunSource,
    check_unchanged,
    digest_of,
    read_manifest,
    replay_variables,
    replayed_settings,
    wrong_source,
)
from trialbed_pages.publishing._names import folder_mask, public_name
from trialbed_pages.publishing._numbers import RunNumbers, numbers_of, request_digests
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


def publish_results(
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
        click.echo(f"{path} has no rows, so no page shows it", err=True)
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


@dataclass(frozen=True)
class PublishedDataset:
    """The published dataset of a run.

    Attributes:
        name: for ``bench run --dataset``; a file of the folder if ``files`` is not empty.
        files: name in the folder -> the current file.
    """

    name: str
    queries: Mapping[int | str, Query]
    files: Mapping[str, Path]


def dataset_of(config: RunConfig, file: Path | None, data_dir: Path, include: Sequence[Path] = ()) -> PublishedDataset:
    """Return the dataset of a run, which must be unchanged.

    Args:
        file: of its tasks, needed if the tools are functions, as the run then keeps only the queries.
        include: files that its code reads.

    Raises:
        UsageError: the file is needed, or has a part outside its folder.
        DataError: the dataset, or the code of its tools, has changed.
    """
    if file is None:
        if include:
            raise UsageError("--include is for files that tasks read: name their own file, too, with --dataset FILE")
        if config.dataset_file in {driver.name for driver in list_drivers("datasets")}:  # embedded, with its tools
            return PublishedDataset(config.dataset_file, _unchanged(config, config.dataset_file, data_dir)[1], {})
        if config.code_digest is not None:
            raise UsageError(
                f"the tools of {config.test_set} are functions, or parts of the run are objects of a program: name the "
                "file of its tasks with --dataset FILE"
            )
        path = Path(config.dataset)
        own = {f"{DATASETS}/{path.name}": path} if path.is_file() else {}
        return PublishedDataset(next(iter(own), config.dataset), run_queries(config, data_dir), own)
    dataset, queries = _unchanged(config, str(file), data_dir)
    files = dict(_sources(file, (*getattr(dataset, "sources", ()), *include)))
    return PublishedDataset(f"{DATASETS}/{file.resolve().name}", queries, files)


def _unchanged(config: RunConfig, name: str, data_dir: Path) -> tuple[Dataset, dict[int | str, Query]]:
    """Return the dataset of a run and the run's queries, which must be unchanged."""
    dataset = open_dataset(name, data_dir)
    if dataset.digest() != config.dataset_digest:
        raise DataError(f"{name}: its tasks differ from the run's: it has changed, or it is another file")
    if NO_OBJECTS.with_dataset(dataset).code_digest() != config.code_digest:
        raise DataError(f"{name}: the code of its tools, or an object that the run used, has changed since the run")
    found = {query.query_id: query for query in dataset.queries()}
    return dataset, {query_id: found[query_id] for query_id in config.query_ids}


def _sources(file: Path, parts: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the files of a dataset by their names in the folder.

    Data files that Python code names, such as a file of keys, are kept from agents, and are not published unless
    the author says so.
    """
    base = file.resolve().parent
    for path in (file.resolve(), *parts):
        if not path.resolve().is_relative_to(base):
            raise UsageError(f"{path} is not below {base}, the folder of {file}: put it there, and run it again")
        yield f"{DATASETS}/{path.resolve().relative_to(base).as_posix()}", path


def source_of(run: Run, dataset: PublishedDataset, *, recording: str, answers: int) -> RunSource:
    """Return the origin of a run's numbers."""
    config, arguments = run.config, tuple(_arguments(run))
    return RunSource(
        name=run.run_id,
        began=f"{run.created_at:%Y-%m-%d %H:%M} UTC",
        trialbed=config.trialbed_version,
        model=public_name(config.cells[0].model),
        identity=split_address(config.cells[0].model_identity)[0],
        dataset=dataset.name,
        recording=recording,
        answers=answers,
        arguments=arguments,
        environments={info.name: environment_file(info) for info in run.frameworks if info.lock_digest},
        cannot=_why_not(config) or wrong_source(dataset.name, arguments, dataset.files),
    )


def public_config(config: RunConfig, dataset: str) -> RunConfig:
    """Return a configuration for public pages, without keys and folders of its author.

    Args:
        dataset: its published name.
    """
    values = {name: getattr(config, name) for name in ("judge", "judge_prompts", *ASKING)}
    parts = urlsplit(config.base_url or "")
    own = {
        "dataset": dataset,
        "dataset_file": "",
        "allowed_models": tuple(map(public_name, config.allowed_models)),
        "catalog": tuple(map(public_name, config.catalog)),
        "cells": tuple(
            cell.model_copy(update={"model": public_name(cell.model), "told_model": public_name(cell.told_model)})
            for cell in config.cells
        ),
        "commands": tuple(f"{command.partition('=')[0]}=…" for command in config.commands),
        # Without its user, password and parameters.
        "base_url": config.base_url and f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
    }
    return config.model_copy(update={name: public_name(value) for name, value in values.items() if value} | own)


def environment_file(info: FrameworkInfo) -> str:
    """Return the name of the file that lists the packages of a framework's environment, which its profiles share."""
    return f"environments/{framework_name(info.name)}-{info.lock_digest[:12]}.txt"


def _arguments(run: Run) -> Iterator[str]:
    config = run.config
    for framework in config.frameworks:
        yield from (FRAMEWORK, framework)
    # Those at their defaults, too: another version may have other defaults.
    for name, option in replayed_settings().items():
        value = config.settings(config.frameworks[0])[name]
        for one in () if value is None else value if isinstance(value, tuple) else (value,):
            yield from (option, public_name(str(one)))
    # Numbers in a row are given as a range: a command has no room for many thousands.
    places = enumerate(config.query_ids)
    for _, items in groupby(places, lambda at: at[1] - at[0] if isinstance(at[1], int) and at[1] >= 0 else str(at)):
        row = [query for _, query in items]
        yield from (QUERY, f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]))
    yield from (MARGIN, str(run.margin))
    if run.against:
        yield from (AGAINST, run.against)


def _why_not(config: RunConfig) -> str:
    if config.plugin_files:
        return f"it used plugins in files: {', '.join(config.plugin_files)}"
    if len({(cell.model, cell.temperature, cell.max_tools, cell.system_prompt) for cell in config.cells}) > 1:
        return "its frameworks differ in settings; publish a run for each"
    if asking := [name for name in ASKING if getattr(config, name)]:
        return f"helpers asked a model: {', '.join(name.replace('_', ' ') for name in asking)}"
    if config.judge not in judge_drivers():
        return f"its judge is a model: {public_name(config.judge)}"
    if here := [name for name in HERE if getattr(config, name)]:
        return f"it used programs or files of a machine: {', '.join(name.replace('_', ' ') for name in here)}"
    return ""
