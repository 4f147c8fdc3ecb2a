"""Large files of tasks in JSON Lines, of which one line at a time is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import read_lines
from trialbed.tasks import Task, TaskDataset
from trialbed_tasks._compiling import NamedFiles, make_task
from trialbed_tasks.forms import FileForm, TaskForm
from trialbed_tools.located import LARGEST, Located, name_place, read_json_line, validate

LARGE = 4 * 2**20
"""Bytes from which on a file is read line by line."""

ANY_TASK = {"query": "?"}

Line = tuple[int, dict[str, Any]]


def read_large(path: Path, name: Callable[[str | None], str], reader: NamedFiles, mcp: Sequence[str]) -> TaskDataset:
    """Return the tasks of a large file.

    Args:
        name: gives the name of the tasks, from the one that the file has for them.

    Raises:
        DataError: something in it is wrong; names the file, the line and the key.
    """
    lines = _lines(path)
    head, first = _part(list(islice(lines, 1)))
    first = first or list(islice(lines, 1))
    located = Located(str(path), {**head, "tasks": [ANY_TASK] * len(first)}, {(): 1})
    form = validate(FileForm, located)
    tools = [tool for place, given in enumerate(form.tools) for tool in reader.tools(given, located, place)]
    tools += reader.server_tools(path, mcp)
    tasks = _Tasks(path, chain(first, lines), reader)
    try:
        dataset = TaskDataset(tasks, name(form.name), tools=tools, files=reader.files)
    except UsageError as error:  # it says which task
        raise DataError(f"{tasks.place}: {error}") from error
    with name_place(str(path)):
        dataset.simulator = reader.simulator(dataset.simulator)
    dataset.scorers = reader.scorers()  # those of files that tasks name, too
    dataset.sources = [path.resolve(), *reader.sources]
    return dataset


def refuse_late_head(value: Mapping[str, Any], place: str) -> None:
    """Refuse the keys of a whole file in a line after the first.

    Raises:
        DataError: these are such keys; names the place.
    """
    if "query" not in value and not set(value) - set(FileForm.model_fields):
        raise DataError(f"{place}: the keys of the whole file stand in its first line")


def _part(first: list[Line]) -> tuple[dict[str, Any], list[Line]]:
    """Return the keys of the whole file, where a first line has them, and the task, where it has one."""
    return (first[0][1], []) if first and "query" not in first[0][1] else ({}, first)


def _lines(path: Path) -> Iterator[Line]:
    """Yield the objects of the lines that are not empty, with the numbers of these lines."""
    before = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(read_lines(file, LARGEST), 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    at = before + error.start
                    raise DataError(f"{path}:{number}: is not UTF-8 text: {error.reason} at byte {at}") from error
                before += len(line)
                if text.strip():
                    yield number, read_json_line(text.rstrip("\r\n"), f"{path}:{number}")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


class _Tasks(Iterable[Task]):
    """The tasks of lines.

    Attributes:
        place: the file and the line of the last one; the file alone before the first.
    """

    def __init__(self, path: Path, lines: Iterable[Line], reader: NamedFiles) -> None:
        self._path = path
        self._lines = lines
        self._reader = reader
        self.place = str(path)

    def __iter__(self) -> Iterator[Task]:
        for place, (number, value) in enumerate(self._lines):
            self.place = f"{self._path}:{number}"
            refuse_late_head(value, self.place)
            located = Located(str(self._path), value, {("tasks", place): number})
            form = validate(TaskForm, located, ("tasks", place))
            yield make_task(form, self._reader, located, place)
