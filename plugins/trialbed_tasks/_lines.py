"""Large files of tasks in JSON Lines, of which one line at a time is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
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


def read_large(path: Path, name: str, reader: NamedFiles, mcp: Sequence[str]) -> TaskDataset:
    """Return the tasks of a large file.

    Args:
        name: of the tasks, where the file has none.

    Raises:
        DataError: something in it is wrong; names the file, and the line where one is read.
    """
    lines = _lines(path)
    first = next(lines, None)
    if first is None or "query" in first[1]:
        head, lines = {}, chain([] if first is None else [first], lines)
    else:
        head = first[1]
    located = Located(str(path), {**head, "tasks": [ANY_TASK]}, {(): 1})
    form = validate(FileForm, located)
    tools = [tool for place, given in enumerate(form.tools) for tool in reader.tools(given, located, place)]
    tools += reader.server_tools(path, mcp)
    try:
        dataset = TaskDataset(_tasks(path, lines, reader), form.name or name, tools=tools, files=reader.files)
    except UsageError as error:  # it says which task
        raise DataError(f"{path}: {error}") from error
    with name_place(str(path)):
        dataset.simulator = reader.simulator(dataset.simulator)
    dataset.scorers = reader.scorers()  # those of files that tasks name, too
    dataset.sources = [path.resolve(), *reader.sources]
    return dataset


def _lines(path: Path) -> Iterator[Line]:
    """Yield the objects of the lines that are not empty, with the numbers of these lines."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(read_lines(file, LARGEST), 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, read_json_line(text, f"{path}:{number}")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text: {error.reason}") from error


def _tasks(path: Path, lines: Iterator[Line], reader: NamedFiles) -> Iterator[Task]:
    for place, (number, value) in enumerate(lines):
        form = validate(TaskForm, Located(str(path), value, {(): number}))
        yield make_task(form, reader, Located(str(path), value, {("tasks", place): number}), place)
