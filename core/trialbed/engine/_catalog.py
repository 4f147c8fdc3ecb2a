"""The catalog that a selector chooses from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from trialbed.catalogs import ApiCatalog, open_documents
from trialbed.contracts import Dataset, DatasetDriver
from trialbed.drivers import list_drivers, load_driver
from trialbed.engine._datasets import dataset_driver, is_file, open_dataset
from trialbed.errors import UsageError
from trialbed.records import Api
from trialbed.settings import index_dir

STORED = "catalogs"
"""The folder of stored catalogs, beside the indexes."""


def open_catalog(datasets: Sequence[Dataset], names: Sequence[str], data_dir: Path) -> ApiCatalog:
    """The Apis of datasets, then those that are named.

    Args:
        names: each ``NAME`` for all test sets of a dataset, ``NAME:TEST_SET``, a file of queries, or a folder of
            documents about tools.

    Raises:
        UsageError, DataError, DriverError: one of them is not there, or cannot be read.
    """
    own = [dataset.apis() for dataset in datasets]
    return ApiCatalog(*own, *(part for name in names for part in _parts(name, data_dir)))


def _parts(name: str, data_dir: Path) -> Iterator[Sequence[Api]]:
    known = {driver.name for driver in list_drivers("datasets")}
    driver, colon, _ = name.partition(":")
    if driver not in known and Path(name).is_dir():
        yield _folder(Path(name))
    elif colon or driver not in known:
        if driver not in known and not is_file(name):
            raise UsageError(f"--catalog {name}: there is no such dataset, file or folder")
        yield open_dataset(name, data_dir).apis()
    else:
        for test_set in dataset_driver(name).test_sets(data_dir) or (None,):
            yield dataset_driver(name).open(test_set, data_dir).apis()


def _folder(folder: Path) -> Sequence[Api]:
    for info in list_drivers("datasets"):
        driver = cast("DatasetDriver", load_driver("datasets", info.name)())
        documents = driver.documents(folder)
        if documents:
            return open_documents(documents, driver.read_document, index_dir() / STORED)
    raise UsageError(
        f"--catalog {folder}: no installed dataset driver finds documents about tools there; ToolBench's are "
        "FOLDER/CATEGORY/TOOL.json"
    )
