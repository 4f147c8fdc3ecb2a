"""The sources of a published run: its settings as arguments, its dataset, and why it cannot be made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbed.engine import NO_OBJECTS, open_dataset, run_queries
from trialbed.errors import DataError, UsageError
from trialbed.records import FrameworkInfo, Query, Run, RunConfig, framework_name
from trialbed.settings import declared_settings
from trialbed.wire.addresses import split_address
from trialbed_pages.publishing._manifest import RunSource

DATASETS = "datasets"
"""The folder of the files of datasets."""

LEFT_OUT = frozenset({"dataset", "model", "model_name", "base_url", "on_miss", "frameworks"})
"""Settings whose arguments are the replay's own, or are told apart."""

ASKING = ("judge_model", "selector_model", "embedding_model", "simulator_model")
"""Settings that name models of helpers, whose answers no recording has."""


@dataclass(frozen=True)
class PublishedDataset:
    """The dataset of a run as it is published.

    Attributes:
        name: as ``bench run --dataset`` takes it: a file of the folder where ``files`` has any.
        files: name in the folder -> the file that it is now.
    """

    name: str
    queries: Mapping[int | str, Query]
    files: Mapping[str, Path]


def dataset_of(config: RunConfig, file: Path | None, data_dir: Path) -> PublishedDataset:
    """Return the dataset of a run, which must be what it was then.

    Args:
        file: of its tasks, where the run keeps the queries alone, since its tools are functions.

    Raises:
        UsageError: the file is needed, or is of another dataset.
        DataError: the dataset, or the code of its tools, has changed.
    """
    if file is None:
        if config.code_digest is not None:
            raise UsageError(
                f"the tools of {config.test_set} are functions, or parts of the run are objects of a program: name the "
                "file of its tasks with --dataset FILE"
            )
        own = (
            {f"{DATASETS}/{Path(config.dataset).name}": Path(config.dataset)} if Path(config.dataset).is_file() else {}
        )
        return PublishedDataset(next(iter(own), config.dataset), run_queries(config, data_dir), own)
    dataset = open_dataset(str(file), data_dir)
    if dataset.digest() != config.dataset_digest:
        raise DataError(f"{file}: its tasks are not those of the run: it has changed since, or is another one")
    if NO_OBJECTS.with_dataset(dataset).code_digest() != config.code_digest:
        raise DataError(f"{file}: the code of its tools has changed since the run, or parts of that are other objects")
    found = {query.query_id: query for query in dataset.queries()}
    base = file.resolve().parent
    files = {
        f"{DATASETS}/{path.resolve().relative_to(base)}": path for path in (file, *dataset.files) if path.is_file()
    }
    return PublishedDataset(
        f"{DATASETS}/{file.name}", {query_id: found[query_id] for query_id in config.query_ids}, files
    )


def source_of(run: Run, dataset: PublishedDataset, *, recording: str, answers: int) -> RunSource:
    """Return where the numbers of a run come from."""
    config = run.config
    return RunSource(
        name=run.run_id,
        began=f"{run.created_at:%Y-%m-%d %H:%M} UTC",
        trialbed=config.trialbed_version,
        model=split_address(config.model)[0],
        identity=config.model_identity,
        dataset=dataset.name,
        recording=recording,
        answers=answers,
        arguments=tuple(_arguments(run)),
        environments={info.name: environment_file(info) for info in run.frameworks if info.lock_digest},
        cannot=_why_not(config),
    )


def environment_file(info: FrameworkInfo) -> str:
    """Return the name of the file that lists the packages of a framework's environment, which its profiles share."""
    return f"environments/{framework_name(info.name)}-{info.lock_digest[:12]}.txt"


def _arguments(run: Run) -> Iterator[str]:
    config = run.config
    for framework in config.frameworks:
        yield from ("--framework", framework)
    for setting in declared_settings():
        value = getattr(config, setting.name) if setting.identity and setting.name not in LEFT_OUT else None
        if value is None or value == setting.default:
            continue
        for one in value if setting.repeatable else (value,):
            yield from (setting.setting.option[-1], f"{one:g}" if isinstance(one, float) else str(one))
    for query in config.query_ids:
        yield from ("--query-id", str(query))
    yield from ("--margin", f"{run.margin:g}")
    if run.against:
        yield from ("--against", run.against)


def _why_not(config: RunConfig) -> str:
    if config.plugin_files:
        return f"it used plugins in files: {', '.join(config.plugin_files)}"
    if config.variations:
        return "its frameworks differ in settings; publish a run for each"
    if asking := [name for name in ASKING if getattr(config, name)]:
        return f"helpers asked a model: {', '.join(name.replace('_', ' ') for name in asking)}"
    return ""
