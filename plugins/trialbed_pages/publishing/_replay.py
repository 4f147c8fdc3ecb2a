"""Makes published numbers again: each run is replayed from its recording, and what follows from it is compared."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from trialbed.catalogs import run_queries
from trialbed.errors import DataError, UsageError
from trialbed.plugins import installed_listeners
from trialbed.records import meant_labels
from trialbed.report import read_report
from trialbed.store import open_store
from trialbed.texts import number_of
from trialbed_pages.publishing._folder import made_files, read_numbers
from trialbed_pages.publishing._manifest import PublicationManifest, RunSource
from trialbed_pages.publishing._numbers import RunNumbers, numbers_of
from trialbed_pages.publishing._replayed import AGAINST, DATASETS, FRAMEWORK, replay_variables
from trialbed_pages.publishing._traces import request_digests

INCOMPLETE = 3
"""The exit code of a run of which trials were not measured, such as those that left the recording."""

MOST = 20
"""Differences of numbers that are named."""


@dataclass(frozen=True)
class Reproduction:
    """The fate of published files that were made again.

    Attributes:
        trials: that were replayed.
        same: files that are the published ones, byte for byte; ``other``: those that are not.
        differences: of the numbers, and trials that left the recording, a line each.
        files: all that was made, by name.
    """

    trials: int
    same: tuple[str, ...]
    other: tuple[str, ...]
    differences: tuple[str, ...]
    files: dict[str, bytes]


@dataclass(frozen=True)
class ReplayOptions:
    """Options of a replay of published runs.

    Attributes:
        work: a folder for the runs.
        frameworks: the set-ups to replay; empty for all of them.
    """

    work: Path
    data_dir: Path
    env_dir: Path | None = None
    frameworks: tuple[str, ...] = ()


def setups_of(run: RunSource) -> list[str]:
    """Return the set-ups of a run, as ``--framework`` takes them."""
    pairs = zip(run.arguments[::2], run.arguments[1::2], strict=True)
    return [value for option, value in pairs if option == FRAMEWORK]


@dataclass(frozen=True)
class ChosenRun:
    """A published run that is made again.

    Attributes:
        numbers: those of the chosen set-ups.
    """

    source: RunSource
    numbers: RunNumbers

    def frameworks(self, chosen: Collection[str]) -> list[str]:
        """Return the set-ups that are replayed, as ``--framework`` takes them."""
        return [name for name in setups_of(self.source) if not chosen or name in chosen]


def chosen_runs(folder: Path, manifest: PublicationManifest, frameworks: Collection[str]) -> list[ChosenRun]:
    """Return the runs of a folder that have the chosen set-ups; all where none is chosen.

    Args:
        folder: its files are the published ones.

    Raises:
        UsageError: a run cannot be made again.
        DataError: the numbers cannot be read, or are of other set-ups than the manifest's.
    """
    runs = [
        ChosenRun(source, _chosen(numbers, frameworks))
        for source, numbers in zip(manifest.runs, read_numbers(folder, manifest), strict=True)
    ]
    found = [run for run in runs if not frameworks or run.frameworks(frameworks)]
    for run in found:
        if run.source.cannot:
            raise UsageError(f"run {run.source.name} cannot be made again: {run.source.cannot}")
        if sorted(one.label for one in run.numbers.frameworks) != sorted(run.frameworks(frameworks)):
            raise DataError(f"{folder}: run {run.source.name}: the numbers are of other frameworks than the run")
    return found


def chosen_setups(folder: Path, manifest: PublicationManifest, names: Sequence[str]) -> tuple[str, ...]:
    """Return the set-ups that names stand for: each itself, or all set-ups of that framework.

    Raises:
        UsageError: there is no run, or none has a set-up of that name.
    """
    if not manifest.runs:
        raise UsageError(f"{folder} has only pages that are not made again, such as those about vendors, and no run")
    known = list(dict.fromkeys(value for run in manifest.runs for value in setups_of(run)))
    found: dict[str, None] = {}
    for name in names:
        if not (meant := meant_labels(name, known)):
            raise UsageError(f"--framework: no run of {folder} has {name!r}; there are {', '.join(known)}")
        found |= dict.fromkeys(meant)
    return tuple(found)


def code_of(manifest: PublicationManifest) -> list[str]:
    """Return the files of a folder that a replay runs, or that say what it runs: all of datasets but plain queries."""
    return [name for name in manifest.files if name.startswith(f"{DATASETS}/") and not name.endswith(".json")]


def reproduce(
    folder: Path, manifest: PublicationManifest, runs: Sequence[ChosenRun], how: ReplayOptions
) -> Reproduction:
    """Replay runs of a folder, and compare what follows with the published files.

    Of chosen set-ups, the numbers of each alone are compared: files have those of all.

    Args:
        folder: its files are the published ones.

    Raises:
        UsageError: a replay cannot be started.
    """
    published = [run.numbers for run in runs]
    made: list[RunNumbers] = []
    missing: list[str] = []
    for source in (run.source for run in runs):
        numbers, left = _replay(folder.resolve(), manifest, source, how)
        made.append(_chosen(numbers, how.frameworks))
        missing += left
    evidence = manifest.model_copy(update={"files": manifest.kept, "made": ()})
    files = {} if how.frameworks else made_files(evidence, made)
    same = tuple(name for name in files if name in manifest.made and files[name] == (folder / name).read_bytes())
    other = () if how.frameworks else tuple(sorted({*manifest.made, *files} - {*same}))
    return Reproduction(
        trials=sum(one.trials for run in made for one in run.frameworks),
        same=same,
        other=other,
        differences=(*missing, *_differences(published, made)),
        files=files,
    )


def _chosen(run: RunNumbers, frameworks: Collection[str]) -> RunNumbers:
    """Return a run with the numbers that chosen set-ups have by themselves; all of it where none is chosen."""
    if not frameworks:
        return run
    own = [one.model_copy(update={"conclusion": ""}) for one in run.frameworks if one.label in frameworks]
    return run.model_copy(update={"frameworks": tuple(own), "findings": ()})


def _replay(
    folder: Path, manifest: PublicationManifest, source: RunSource, how: ReplayOptions
) -> tuple[RunNumbers, list[str]]:
    """Replay a run; returns its numbers, and why trials were not measured."""
    place = how.work / source.name
    place.mkdir(parents=True)
    # So that none is looked for in the folders above, which have the user's own settings and keys.
    for name in ("bench.toml", ".env"):
        (place / name).touch()
    dataset = source.dataset
    if dataset in manifest.files:
        for name in manifest.files:
            if name.startswith(f"{DATASETS}/"):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, place / name)
        dataset = str(place / dataset)
    store = str(place / "trialbed.db")
    arguments = [*_of_chosen(source.arguments, how.frameworks)]
    given = [f"{option}={value}" for option, value in zip(arguments[::2], arguments[1::2], strict=True)]
    command = [sys.executable, "-m", "trialbed", "run", *given, "--dataset", dataset]
    command += ["--model", f"replay:{folder / source.recording}", "--store", store, "--model-cache", "off", "--yes"]
    command += ["--data-dir", str(how.data_dir.resolve())]
    command += [] if how.env_dir is None else ["--env-dir", str(how.env_dir.resolve())]
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
        queries = run_queries(config, how.data_dir)
        report, digests = read_report(run, queries, installed_listeners()), request_digests(run)
    lines = [
        f"{summary.framework}: {number_of(reason.count, 'trial')} {reason.status}, first at task {reason.query_id}: "
        f"{reason.message}"
        for summary in report.frameworks
        for reason in summary.failures
        if reason.status == "not measured"
    ]
    return numbers_of(report, queries, digests, name=source.name, model=source.model), lines


def _of_chosen(arguments: Sequence[str], frameworks: Collection[str]) -> Iterator[str]:
    """Yield the arguments of a run without the set-ups that are not chosen; each option has a value after it."""
    for option, value in zip(arguments[::2], arguments[1::2], strict=True):
        if option == AGAINST and frameworks and value not in frameworks:
            continue
        if option != FRAMEWORK or not frameworks or value in frameworks:
            yield from (option, value)


def _differences(published: list[RunNumbers], made: list[RunNumbers]) -> list[str]:
    pairs = [
        (there.name, there.model_dump(mode="json"), here.model_dump(mode="json"))
        for there, here in zip(published, made, strict=True)
    ]
    found = list(islice((line for pair in pairs for line in _unequal(*pair)), MOST + 1))
    return found if len(found) <= MOST else [*found[:MOST], "and more"]


def _unequal(where: str, there: Any, here: Any) -> Iterator[str]:
    """Yield each value that is another, with its place."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys([*there, *here]):
            yield from _unequal(f"{where}, {key}", there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list):
        for place in range(max(len(there), len(here))):
            one, other = (values[place] if place < len(values) else None for values in (there, here))
            yield from _unequal(f"{where}, {_name_of(one or other, place)}", one, other)
    elif there != here:
        yield f"{where}: {_short(there)} → {_short(here)}"


def _name_of(item: Any, place: int) -> str:
    names = (
        [item[key] for key in ("label", "framework", "query", "score") if key in item] if isinstance(item, dict) else []
    )
    return " ".join(map(str, names)) or str(place + 1)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


LONGEST = 80
