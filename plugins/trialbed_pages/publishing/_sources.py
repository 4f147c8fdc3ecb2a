"""The sources of a published run, with its settings as arguments, its dataset, and obstacles to reproducing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

from trialbed.catalogs import open_dataset, run_queries
from trialbed.contracts import Dataset
from trialbed.drivers import list_drivers
from trialbed.errors import DataError, UsageError
from trialbed.models import judge_drivers
from trialbed.preparation import NO_OBJECTS
from trialbed.records import FrameworkInfo, Query, Run, RunConfig, framework_name
from trialbed.wire.addresses import split_address
from trialbed_pages.publishing._manifest import RunSource
from trialbed_pages.publishing._names import public_name
from trialbed_pages.publishing._replayed import (
    AGAINST,
    ASKING,
    DATASETS,
    FRAMEWORK,
    HERE,
    MARGIN,
    QUERY,
    replayed_settings,
    wrong_source,
)


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
        raise DataError(f"{name}: its tasks are not those of the run: it has changed since, or is another one")
    if NO_OBJECTS.with_dataset(dataset).code_digest() != config.code_digest:
        raise DataError(f"{name}: the code of its tools has changed since the run, or parts of that are other objects")
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
