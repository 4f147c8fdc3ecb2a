"""From ``--dataset``, ``--limit`` and ``--query-id`` to queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import UsageError
from trialbed.records import Query


def open_dataset(spec: str, data_dir: Path) -> Dataset:
    """The dataset that ``NAME``, ``NAME:TEST_SET`` or ``FILE.json`` names.

    Raises:
        UsageError, DataError, DriverError: as ``DatasetDriver.open`` and ``load_driver`` say.
    """
    if _is_file(spec):
        return dataset_driver("file").open(spec, data_dir)
    name, _, test_set = spec.partition(":")
    return dataset_driver(name).open(test_set or None, data_dir)


def dataset_driver(name: str) -> DatasetDriver:
    """An instance of the dataset driver of this name."""
    return cast("DatasetDriver", load_driver("datasets", name)())


def choose_queries(dataset: Dataset, limit: int | None, query_ids: Sequence[str]) -> tuple[Query, ...]:
    """The queries of a run, in the dataset's order.

    Raises:
        UsageError: a query id is not in the dataset, or nothing is left.
    """
    queries = list(dataset.queries())
    if query_ids:
        known = {str(query.query_id) for query in queries}
        missing = [wanted for wanted in query_ids if wanted not in known]
        if missing:
            raise UsageError(f"--query-id: {dataset.test_set} has no query {', '.join(missing)}")
        queries = [query for query in queries if str(query.query_id) in set(query_ids)]
    chosen = tuple(queries[:limit])
    if not chosen:
        raise UsageError(f"{dataset.test_set} has no queries to run")
    return chosen


def _is_file(spec: str) -> bool:
    names = {driver.name for driver in list_drivers("datasets")}
    if spec.partition(":")[0] in names:
        return False
    return spec.endswith(".json") or Path(spec).is_file()
