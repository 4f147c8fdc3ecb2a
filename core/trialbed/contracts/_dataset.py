"""The contract of a dataset driver."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from trialbed.errors import UsageError
from trialbed.records import Api, ApiRef, Query, unique_apis

NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Dataset(ABC):
    """Queries and the Apis they are about.

    Attributes:
        name: the driver's name, or the file's.
        test_set: names the result document (``G1_instruction``, ``mini``).
        simulator: which simulator answers for these Apis when neither the cache nor the real API does.
        functions: the Apis that functions of this process answer, each with its ``trialbed.tasks.ToolBody``.
        checks: name -> a function that looks at the trials of the queries that name it.
        scorers: name -> a plugin that scores all trials.
        files: its own files, which no agent may read.
    """

    name: str
    test_set: str
    simulator: str = "template"
    functions: Mapping[ApiRef, Any] = NOTHING
    checks: Mapping[str, Callable[[Any], Any]] = NOTHING
    scorers: Mapping[str, object] = NOTHING
    files: Sequence[Path] = ()

    @abstractmethod
    def queries(self) -> Sequence[Query]:
        """Return all queries, in the dataset's order."""

    def apis(self) -> Sequence[Api]:
        """Return every Api of the dataset once; these are the Apis of its queries, unless a subclass has others."""
        return unique_apis(api for query in self.queries() for api in query.apis)

    def digest(self) -> str:
        """Return the SHA-256 over the queries as JSON, in order; equal digests mean the same tasks."""
        digest = hashlib.sha256()
        for query in self.queries():
            digest.update(f"{query.identity_json()}\n".encode())
        return digest.hexdigest()


class DatasetDriver(ABC):
    """A kind of dataset; a driver of the group ``trialbed.datasets`` is a subclass that takes no arguments."""

    description: ClassVar[str] = ""

    @abstractmethod
    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """Return the test sets that are ready to use, given the folder that holds imported data."""

    @abstractmethod
    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        """Return the dataset of this test set (None: the driver's default).

        Raises:
            UsageError: the test set does not exist; lists the existing ones, and how to get more.
            DataError: its files are malformed; names file and key.
        """

    def use_tools(self, mcp: Sequence[str], answers: str | None) -> None:  # noqa: ARG002 - drivers override it
        """Change the tools of datasets that are opened from now on.

        Args:
            mcp: commands or URLs of MCP servers that add tools.
            answers: the source of answers, as ``--tool-answers`` has it; None for the dataset's own.

        Raises:
            UsageError: the tools of its datasets cannot be changed.
        """
        raise UsageError("--mcp and --tool-answers are for files of tasks: give one as --dataset")

    def recognises(self, folder: Path) -> bool:  # noqa: ARG002 - drivers override it
        """Return whether ``bench data import FOLDER`` is for this driver."""
        return False

    def import_folder(self, folder: Path, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - drivers override it
        """Check the folder's data, keep it under ``data_dir``, and return the test sets it gave."""
        raise UsageError(f"{type(self).__name__} cannot import folders")
