"""The dataset driver for StableToolBench."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import DatasetDriver
from trialbed.errors import UsageError
from trialbed.records import Api
from trialbed_plugins.datasets._queries import ListedDataset, read_document, read_queries
from trialbed_plugins.datasets.stabletoolbench._copies import DatasetCopies, described
from trialbed_plugins.datasets.stabletoolbench._folders import find, holds_data

NAME = "stabletoolbench"

OFFICIAL = ("G1_instruction", "G1_category", "G1_tool", "G2_instruction", "G2_category", "G3_instruction")
"""The repository's test sets, in its order. The first imported one is the default."""

HOW_TO = (
    "`bench data import DIR` imports them, where DIR is a copy of StableToolBench's repository "
    "or a folder of its query files"
)


class StableToolBenchDataset(ListedDataset):
    """An imported test set. Its catalog also contains the APIs of imported tool documents."""

    def __init__(self, test_set: str, copies: DatasetCopies) -> None:
        descriptions = copies.descriptions()
        queries = (described(query, descriptions) for query in copies.queries(test_set))
        super().__init__(NAME, test_set, queries)
        self._copies = copies

    def apis(self) -> Sequence[Api]:
        """Return the APIs offered in queries, then the APIs of the imported tool documents."""
        return self._catalog

    @cached_property
    def _catalog(self) -> ApiCatalog:
        return ApiCatalog(super().apis(), self._copies.apis())


class StableToolBenchDriver(DatasetDriver):
    """Test sets imported from a copy of StableToolBench's repository (Guo et al. 2024)."""

    description: ClassVar[str] = "StableToolBench's solvable tasks (765 in six test sets); needs `bench data import`"

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """Return the imported test sets: the repository's in its own order, then others by name."""
        found = _copies(data_dir).test_sets()
        return sorted(found, key=lambda name: (OFFICIAL.index(name) if name in OFFICIAL else len(OFFICIAL), name))

    def open(self, test_set: str | None, data_dir: Path) -> StableToolBenchDataset:
        """Return an imported test set; the first of ``test_sets`` by default.

        Raises:
            UsageError: it is not imported; the message lists the imported ones and explains how to import more.
            DataError: its copy is damaged.
        """
        found = self.test_sets(data_dir)
        if not found:
            raise UsageError(f"no test sets of {NAME!r} are imported in {data_dir}; {HOW_TO}")
        if test_set is None:
            test_set = found[0]
        if test_set not in found:
            raise UsageError(
                f"the dataset {NAME!r} has no test set {test_set!r} here; imported: {', '.join(found)}; {HOW_TO}"
            )
        return StableToolBenchDataset(test_set, _copies(data_dir))

    def recognises(self, folder: Path) -> bool:
        """Return whether there are query files or tool documents below the folder."""
        return folder.is_dir() and holds_data(folder)

    def import_folder(self, folder: Path, data_dir: Path) -> Sequence[str]:
        """Check all query files and tool documents below the folder, and store normalized copies.

        Returns:
            The test sets in the folder; empty if it only contains tool documents.

        Raises:
            UsageError: there is nothing to import, or ``data_dir`` cannot be written.
            DataError: a file is malformed, and nothing was imported; the message names the file and the query or key.
        """
        if not self.recognises(folder):
            raise UsageError(f"{folder}: holds no query files or tool documents of StableToolBench; {HOW_TO}")
        found = find(folder)
        test_sets = {name: read_queries(path).queries() for name, path in found.queries.items()}
        apis = (api for path in found.documents for api in read_document(path))
        try:
            _copies(data_dir).add(test_sets, apis)
        except OSError as error:
            raise UsageError(f"{data_dir}: the data cannot be kept there: {error}; nothing was imported") from error
        return list(test_sets)


def _copies(data_dir: Path) -> DatasetCopies:
    return DatasetCopies(data_dir / NAME)
