"""Files of tasks as datasets: ``--dataset desk.py``, ``--dataset desk.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import UsageError


class TaskFileDriver(DatasetDriver):
    """Any file of tasks; the test set is its path."""

    description: ClassVar[str] = "tasks in a Python, YAML, JSON Lines or CSV file, with tools of your own"

    mcp: Sequence[str] = ()
    answers: str | None = None

    def use_tools(self, mcp: Sequence[str], answers: str | None) -> None:
        """Add the tools of MCP servers to those of the files that are opened, and say who answers."""
        self.mcp, self.answers = mcp, answers

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - files may be anywhere
        """Empty, since files cannot be listed."""
        return []

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - files may be anywhere
        """Return the tasks in the file at the path ``test_set``; runs the Python in it.

        Raises:
            UsageError: no path was given, or there is no such file.
            DataError: the file is malformed; names file, line and key.
        """
        from trialbed_tasks.reading import read_tasks  # drivers are listed without it

        if test_set is None:
            raise UsageError("the dataset 'tasks' needs the path of a file: `bench run --dataset FILE.yaml`")
        return read_tasks(Path(test_set), self.mcp, self.answers)
