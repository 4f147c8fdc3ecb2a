"""The dataset driver of the Berkeley Function-Calling Leaderboard."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import DatasetDriver
from trialbed.errors import UsageError
from trialbed_plugins.datasets._queries import ListedDataset
from trialbed_plugins.datasets.bfcl._objects import object_class
from trialbed_plugins.datasets.bfcl._requests import turns_query_of, with_functions
from trialbed_plugins.datasets.bfcl._source import (
    CATEGORIES,
    TURNS,
    data_folder,
    has_functions,
    query_of,
    read_rows,
)

NAME = "bfcl"
HOW_TO = "`pip install --no-deps bfcl-eval` brings its data"
OLDEST = "2025.10.27"
"""The first release of the wheel with these files."""

LOG = logging.getLogger("trialbed.engine")


class BfclDriver(DatasetDriver):
    """Test sets of the Berkeley Function-Calling Leaderboard, from the wheel ``bfcl-eval``."""

    description: ClassVar[str] = "the Berkeley Function-Calling Leaderboard's cases; needs `bfcl-eval`"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - the data are in a wheel
        """Return the test sets of the installed wheel."""
        folder = data_folder()
        known = (*CATEGORIES, *TURNS) if folder is not None else ()
        return [name for name in known if folder and (folder / f"BFCL_v4_{name}.json").is_file()]

    def open(self, test_set: str | None, data_dir: Path) -> ListedDataset:
        """Return a test set; the first one by default.

        Raises:
            UsageError: it does not exist; the message lists the test sets.
            DataError: a file of the wheel is damaged.
        """
        folder, found = data_folder(), self.test_sets(data_dir)
        if folder is None:
            raise UsageError(f"the dataset {NAME!r} is not installed; {HOW_TO}")
        if not found:
            raise UsageError(f"the installed bfcl-eval has other files than {OLDEST} and later; {HOW_TO}")
        name = test_set or found[0]
        if name not in found:
            raise UsageError(f"the dataset {NAME!r} has no test set {name!r}; it has {', '.join(found)}")
        rows = read_rows(folder, name)
        if name not in TURNS:
            whole = {case: row for case, row in rows.items() if has_functions(row)}
            if odd := sorted(rows.keys() - whole.keys()):
                LOG.warning("bfcl: skipped, as the answers call functions that the cases lack: %s", ", ".join(odd))
            return ListedDataset(NAME, name, [query_of(row) for row in whole.values()])
        for needed in {each for row in rows.values() for each in row["involved_classes"]}:
            object_class(needed)
        dataset = ListedDataset(NAME, name, [turns_query_of(row) for row in with_functions(folder, rows).values()])
        dataset.simulator = NAME
        return dataset
