"""Datasets from files of tasks: ``--dataset desk.py``, ``--dataset desk.yaml``, and the embedded ``--dataset desk``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import UsageError

DESK = "desk"
DESK_SETS = (DESK, "long")
"""The files in the folder with tasks. The first is the default."""


class TaskFileDriver(DatasetDriver):
    """Opens any file of tasks; the test set is its path."""

    description: ClassVar[str] = "tasks in a Python, YAML, JSON Lines or CSV file, with tools of your own"

    mcp: Sequence[str] = ()
    answers: str | None = None

    def use_tools(self, mcp: Sequence[str], answers: str | None) -> None:
        """Set the MCP servers that add tools to the files, and the source of answers."""
        self.mcp, self.answers = mcp, answers

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - files may be anywhere
        """Return an empty list, since files cannot be listed."""
        return []

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - files may be anywhere
        """Return the tasks of the file at the path ``test_set``. Runs Python files.

        Raises:
            UsageError: no path was given, or there is no such file.
            DataError: the file is malformed; the message names file, line and key.
        """
        from trialbed_tasks.reading import read_tasks  # drivers are listed without it

        if test_set is None:
            raise UsageError("the dataset 'tasks' needs the path of a file: `bench run --dataset FILE.yaml`")
        return read_tasks(Path(test_set), self.mcp, self.answers)


class DeskDriver(DatasetDriver):
    """The embedded conversations."""

    description: ClassVar[str] = "12 conversations at the desk of a shop, with tools, state and rules; embedded"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - embedded
        """Return the set of twelve conversations and the set with several lengths."""
        return DESK_SETS

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - embedded
        """Return the conversations.

        Raises:
            UsageError: there is no such test set.
        """
        from trialbed_tasks.reading import read_tasks  # drivers are listed without it

        if test_set not in (None, *DESK_SETS):
            raise UsageError(f"the dataset {DESK!r} has no test set {test_set!r}")
        return read_tasks(Path(__file__).with_name(DESK) / f"{test_set or DESK}.yaml")
