"""Opens datasets by their names."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import DataError, TrialbedError
from trialbed.records import Query, RunConfig


def open_dataset(spec: str, data_dir: Path) -> Dataset:
    """The dataset that ``NAME``, ``NAME:TEST_SET`` or ``FILE.json`` names.

    Raises:
        UsageError, DataError, DriverError: as ``DatasetDriver.open`` and ``load_driver`` say.
    """
    if is_file(spec):
        return dataset_driver("file").open(spec, data_dir)
    name, _, test_set = spec.partition(":")
    return dataset_driver(name).open(test_set or None, data_dir)


def dataset_driver(name: str) -> DatasetDriver:
    """An instance of the dataset driver of this name."""
    return cast("DatasetDriver", load_driver("datasets", name)())


def is_file(spec: str) -> bool:
    """Whether this means a file, and not a dataset by its name."""
    names = {driver.name for driver in list_drivers("datasets")}
    if spec.partition(":")[0] in names:
        return False
    return spec.endswith(".json") or Path(spec).is_file()


def run_queries(config: RunConfig, data_dir: Path) -> dict[int | str, Query]:
    """The queries of a run, from its dataset.

    Raises:
        DataError: the dataset is another one now.
        UsageError, DriverError: as ``open_dataset`` says.
    """
    dataset = open_dataset(config.dataset, data_dir)
    if dataset.digest() != config.dataset_digest:
        raise DataError(f"the dataset {config.dataset} has changed since the run: its digest is another")
    found = {query.query_id: query for query in dataset.queries()}
    return {query_id: found[query_id] for query_id in config.query_ids}


def known_queries(config: RunConfig, data_dir: Path) -> dict[int | str, Query] | None:
    """The queries of a run; None where its dataset is out of reach or has changed, as all else is in the store."""
    try:
        return run_queries(config, data_dir)
    except (TrialbedError, OSError):
        return None
