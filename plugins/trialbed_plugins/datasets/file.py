"""Datasets that are single files: ``--dataset FILE.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import UsageError
from trialbed.files import read_text
from trialbed.settings import index_dir
from trialbed_plugins.datasets._indexed import open_indexed
from trialbed_plugins.datasets._listed import QUERY_FILE, ListedDataset, check_name, check_queries
from trialbed_plugins.datasets._reading import validate
from trialbed_plugins.datasets.stabletoolbench import read_queries

LARGE = 4 * 2**20
"""Bytes from which on the queries of a file stay in it."""

INDEXES = "queries"
"""The folder of their indexes, beside those of catalogs."""


def open_file(path: Path | str) -> Dataset:
    """The dataset in a file: a list of queries as StableToolBench writes them, or Trialbed's own form.

    The own form is ``{"name": …, "queries": [Query…]}``. A list is named for its file. Of a large file, each
    query is read when it is looked at.

    Raises:
        UsageError: there is no such file.
        DataError: the file is malformed; names file, line (where it is not JSON) and key.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; a dataset is given by name or by the path of a JSON file")
    if path.stat().st_size >= LARGE:
        # A fault is found by reading the whole, which names its place.
        found = open_indexed(path, index_dir() / INDEXES)
        if found is not None:
            return found
    text = read_text(path)
    if text.lstrip().startswith("["):
        name = check_name(path)
        return ListedDataset(name, name, read_queries(path))
    content = validate(path, QUERY_FILE, text)
    check_queries(path, content.queries)
    return ListedDataset(content.name, content.name, content.queries)


class FileDriver(DatasetDriver):
    """Any file of queries; the test set is its path."""

    description: ClassVar[str] = "a JSON file of queries, in StableToolBench's form or Trialbed's own"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - files may be anywhere
        """Empty, since files cannot be listed."""
        return []

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - files may be anywhere
        """The dataset in the file at the path ``test_set``.

        Raises:
            UsageError: no path was given, or there is no such file.
            DataError: the file is malformed.
        """
        if test_set is None:
            raise UsageError("the dataset 'file' needs the path of a JSON file: `bench run --dataset FILE.json`")
        return open_file(test_set)
