"""Datasets in single files of queries: ``--dataset FILE.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import UsageError
from trialbed_plugins.datasets._queries import read_queries


class FileDriver(DatasetDriver):
    """Opens any file of queries; the test set is its path."""

    description: ClassVar[str] = "tasks in a JSON, JSON Lines or YAML file, in StableToolBench's form or Trialbed's own"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - files may be anywhere
        """Return an empty list, since files cannot be listed."""
        return []

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - files may be anywhere
        """Return the dataset in the file at the path ``test_set``.

        Raises:
            UsageError: no file was named, or it does not exist.
            DataError: it is malformed; the message names the line, or the query and the key.
        """
        if test_set is None:
            raise UsageError("the dataset 'file' needs the path of a JSON file: `bench run --dataset FILE.json`")
        if not Path(test_set).is_file():
            raise UsageError(
                f"{test_set}: there is no such file; a dataset is given by name or by the path of a JSON file"
            )
        return read_queries(Path(test_set))
