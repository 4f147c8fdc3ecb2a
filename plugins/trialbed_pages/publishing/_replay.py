"""Reproduce published numbers by replaying each run from its recording, and compare the results."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from trialbed.catalogs import run_queries
from trialbed.errors import DataError, UsageError
from trialbed.plugins import installed_listeners
from trialbed.records import meant_labels
from trialbed.report import read_report
from trialbed.store import open_store
from trialbed.texts import number_of
from trialbed_pages.publishing._folder import made_files, read_numbers
from trialbed_pages.publishing._manifest import (
    AGAINST,
    DATASETS,
    FRAMEWORK,
    PublicationManifest,
    RunSource,
    replay_variables,
)
from trialbed_pages.publishing._numbers import RunNumbers, numbers_of, request_digests

INCOMPLETE = 3
"""The exit code of a run with unmeasured trials, such as trials that left the recording."""

MOST = 20
"""Differences of numbers that are named."""

LONGEST = 80
"""Characters of a value that are shown."""

NAMES = ("label", "framework", "query", "score")
"""Keys that name an object of a list."""

ChosenRun = tuple[RunSource, RunNumbers]
"""A published run with its numbers, both of the chosen setups alone."""


class Reproduction(NamedTuple):
    """The result of making published files again.

    Attributes:
        trials: number of replayed trials.
        same, other: files that equal the published ones byte for byte, and files that do not.
        differences: different numbers and trials that left the recording, a line each.
        files: all made files, by name.
    """

    trials: int
    same: tuple[str, ...]
    other: tuple[str, ...]
    differences: tuple[str, ...]
    files: dict[str, bytes]


def setups_of(run: RunSource) -> list[str]:
    """Return the setups of a run, as ``--framework`` takes them."""
    pairs = zip(run.arguments[::2], run.arguments[1::2], strict=True)
    return [value for option, value in pairs if option == FRAMEWORK]


def chosen_runs(folder: Path, manifest: PublicationManifest, names: Sequence[str]) -> list[ChosenRun]:
    """Return the runs of a folder, reduced to the chosen setups; without a choice, return whole runs.

    Args:
        folder: its files are the published ones.
        names: of setups, or of frameworks, for all setups of each.

    Raises:
        UsageError: there is no run, one cannot be reproduced, or no run has a setup of that name.
        DataError: the numbers cannot be read, or are of other setups than the manifest's.
    """
    known = list(dict.fromkeys(value for run in manifest.runs for value in setups_of(run)))
    if not known:
        raise UsageError(f"{folder} has no run; pages about vendors cannot be made again")
    chosen = set[str]()
    for name in names:
        if not (meant := meant_labels(name, known)):
            raise UsageError(f"--framework: no run of {folder} has {name!r}; there are {', '.join(known)}")
        chosen.update(meant)
    is_part = 0 < len(chosen) < len(known)
    found = [
        (_source_of(source, chosen), _numbers_of(numbers, chosen)) if is_part else (source, numbers)
        for source, numbers in zip(manifest.runs, read_numbers(folder, manifest), strict=True)
        if not is_part or chosen & {*setups_of(source)}
    ]
    for source, numbers in found:
        if source.cannot:
            raise UsageError(f"run {source.name} cannot be made again: {source.cannot}")
        if sorted(one.label for one in numbers.frameworks) != sorted(setups_of(source)):
            raise DataError(f"{folder}: run {source.name}: the numbers are of other frameworks than the run")
    return found


def _source_of(source: RunSource, setups: Collection[str]) -> RunSource:
    """Return a run without unchosen setups; each option has a value after it."""
    pairs = zip(source.arguments[::2], source.arguments[1::2], strict=True)
    kept = (pair for pair in pairs if pair[0] not in (FRAMEWORK, AGAINST) or pair[1] in setups)
    return source.model_copy(update={"arguments": tuple(part for pair in kept for part in pair)})


def _numbers_of(run: RunNumbers, setups: Collection[str]) -> RunNumbers:
    """Return the numbers of a run's chosen setups, without comparisons."""
    own = [one.model_copy(update={"conclusion": ""}) for one in run.frameworks if one.label in setups]
    return run.model_copy(update={"frameworks": tuple(own), "findings": ()})


def code_of(manifest: PublicationManifest) -> list[str]:
    """Return the files of a folder that a replay runs, or that say what it runs: all of datasets but plain queries."""
    return [name for name in manifest.files if name.startswith(f"{DATASETS}/") and not name.endswith(".json")]


def replay(
    folder: Path,
    manifest: PublicationManifest,
    runs: Sequence[ChosenRun],
    work: Path,
    data_dir: Path,
    env_dir: Path | None = None,
) -> Reproduction:
    """Replay runs of a folder, and compare the results with the published files.

    If only some setups are chosen, numbers are compared instead of files, because files cover all setups.

    Args:
        folder: its files are the published ones.
        work: a folder for the runs.

    Raises:
        UsageError: a replay cannot be started.
    """
    is_part = [source for source, _ in runs] != list(manifest.runs)
    folders = ["--data-dir", str(data_dir.resolve()), *(["--env-dir", str(env_dir.resolve())] if env_dir else [])]
    made: list[RunNumbers] = []
    differences: list[str] = []
    for source, published in runs:
        numbers, missing = _replay(folder.resolve(), manifest, source, work / source.name, folders)
        made.append(_numbers_of(numbers, setups_of(source)) if is_part else numbers)
        differences += missing
        there, here = (one.model_dump(mode="json") for one in (published, made[-1]))
        differences += islice(_unequal(published.name, there, here), MOST)
    evidence = manifest.model_copy(update={"files": manifest.kept, "made": ()})
    files = {} if is_part else made_files(evidence, made)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    same = tuple(name for name in manifest.made if digests.get(name, "") == manifest.files.get(name))
    other = () if is_part else tuple(sorted({*manifest.made, *files} - {*same}))
    trials = sum(one.trials for run in made for one in run.frameworks)
    return Reproduction(trials, same, other, tuple(differences), files)


def _replay(
    folder: Path, manifest: PublicationManifest, source: RunSource, place: Path, folders: Sequence[str]
) -> tuple[RunNumbers, list[str]]:
    """Replay a run, and return its numbers and the reasons for unmeasured trials."""
    place.mkdir(parents=True)
    # Otherwise the user's own settings and keys in parent folders would be used.
    for name in ("bench.toml", ".env"):
        (place / name).touch()
    dataset = source.dataset
    if dataset in manifest.files:
        for name in manifest.files:
            if name.startswith(f"{DATASETS}/"):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, place / name)
        dataset = str(place / dataset)
    store, pairs = str(place / "trialbed.db"), zip(source.arguments[::2], source.arguments[1::2], strict=True)
    command = [sys.executable, "-m", "trialbed", "run", *(f"{option}={value}" for option, value in pairs)]
    command += ["--dataset", dataset, "--model", f"replay:{folder / source.recording}", "--model-cache", "off"]
    command += ["--store", store, "--yes", *folders]
    try:
        ended = subprocess.run(
            command, cwd=place, env=replay_variables(os.environ), stdout=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise UsageError(f"run {source.name} cannot be replayed: bench run: {error.strerror}") from error
    if ended.returncode not in (0, INCOMPLETE):
        raise UsageError(
            f"run {source.name} cannot be replayed: bench run ended with {ended.returncode}, as said above"
        )
    with open_store(store) as reader:
        run = reader.run("latest")
        # A run of a file names its own copy of the queries, by a path from where it was made.
        kept = place / run.config.dataset
        config = run.config.model_copy(update={"dataset": str(kept)}) if kept.is_file() else run.config
        queries = run_queries(config, Path(folders[1]))
        report, digests = read_report(run, queries, installed_listeners()), request_digests(run)
    lines = [
        f"{summary.framework}: {number_of(reason.count, 'trial')} {reason.status}, first at task {reason.query_id}: "
        f"{reason.message}"
        for summary in report.frameworks
        for reason in summary.failures
        if reason.status == "not measured"
    ]
    return numbers_of(report, queries, digests, name=source.name, model=source.model), lines


def _unequal(where: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys([*there, *here]):
            yield from _unequal(f"{where}, {key}", there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list):
        for place, (one, other) in enumerate(zip_longest(there, here), 1):
            about = one or other
            names = [about[key] for key in NAMES if key in about] if isinstance(about, dict) else []
            yield from _unequal(f"{where}, {' '.join(map(str, names)) or place}", one, other)
    elif there != here:
        yield f"{where}: {str(there)[:LONGEST]} → {str(here)[:LONGEST]}"
