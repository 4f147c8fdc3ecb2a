"""Find StableToolBench's files below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import DataError

EXAMPLES = "solvable_queries_example"
"""The repository's folder with excerpts of its test sets, under the same file names."""

_PEEK = 65536


@dataclass(frozen=True)
class Findings:
    """The contents of a folder.

    Attributes:
        queries: maps test sets to files.
        documents: tool documents, each in the folder of its category.
    """

    queries: dict[str, Path]
    documents: tuple[Path, ...]


def find(folder: Path) -> Findings:
    """Find the query files and tool documents below a folder.

    Query files are in folders named ``test_instruction``, or in ``folder`` itself. Tool documents are
    ``toolenv/tools/<Category>/*.json``; ``folder`` may be ``toolenv`` or ``tools`` itself. The repository's excerpts
    only count if the complete test set is missing.

    Raises:
        DataError: two files contain the same test set.
    """
    return Findings(_files_by_name(list(_query_files(folder))), tuple(_documents(folder)))


def holds_data(folder: Path) -> bool:
    """Return whether there is any query file or tool document below a folder. The search stops at the first."""
    return any(True for _ in _query_files(folder)) or any(True for _ in _documents(folder))


def _query_files(folder: Path) -> Iterator[Path]:
    folder = folder.resolve()
    if folder.name != "test_instruction":
        yield from (path for path in _json_files(folder) if _looks_like_queries(path))
    for found in _folders(folder):
        if found.name == "test_instruction":
            yield from _json_files(found)


def _documents(folder: Path) -> Iterator[Path]:
    folder = folder.resolve()
    for found in _folders(folder):
        if found.name == "tools" and (found == folder or found.parent.name == "toolenv"):
            for category in sorted(path for path in found.iterdir() if path.is_dir()):
                yield from _json_files(category)


def _folders(folder: Path) -> Iterator[Path]:
    for root, names, _ in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield Path(root)


def _json_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if path.is_file())


def _looks_like_queries(path: Path) -> bool:
    """Return whether a file begins like a list of queries, even if it is malformed later.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            head = file.read(_PEEK)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return head.lstrip().startswith("[") and ('"api_list"' in head or '"query_id"' in head)


def _files_by_name(files: list[Path]) -> dict[str, Path]:
    whole = {path.stem for path in files if EXAMPLES not in path.parts}
    named: dict[str, Path] = {}
    for path in files:
        if EXAMPLES in path.parts and path.stem in whole:
            continue
        if path.stem in named:
            raise DataError(
                f"{named[path.stem]} and {path} both give the test set {path.stem!r}; import the folder of one of them"
            )
        named[path.stem] = path
    return named
