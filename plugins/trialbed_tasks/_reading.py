"""Makes a dataset of a file of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from trialbed.errors import DataError, UsageError
from trialbed.tasks import TaskDataset, compile_tasks
from trialbed_tasks._compiling import NamedFiles, make_task
from trialbed_tasks._lines import LARGE, read_large, refuse_late_head
from trialbed_tasks._python import read_python
from trialbed_tasks.forms import FileForm
from trialbed_tools.forms import NAME
from trialbed_tools.located import Key, Located, name_place, read_json_lines, read_yaml, validate

LARGEST_YAML = 8 * 2**20
"""Bytes of a file in YAML, which is parsed as a whole and takes some fifty times as much memory."""


def read_tasks(path: Path, mcp: Sequence[str] = (), answers: str | None = None) -> TaskDataset:
    """Return the tasks of a Python, YAML or JSON Lines file.

    Args:
        mcp: commands or URLs of servers whose tools it has beside its own.
        answers: the source of the answers of files of tools; None for their own.

    Raises:
        UsageError: there is no such file.
        DataError: something in it is wrong; names the file, the line and the key.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    if path.suffix == ".py":
        return _of_python(path, NamedFiles(path.parent, [], answers), mcp)
    reader = NamedFiles(path.parent, [path.resolve()], answers)
    if path.suffix != ".jsonl":
        if path.stat().st_size > LARGEST_YAML:
            raise DataError(
                f"{path}: has more than {LARGEST_YAML:,} bytes, which is too much to read as YAML: write the tasks as "
                "JSON Lines, into a file that ends in .jsonl, of which a line at a time is read"
            )
        return _of_form(read_yaml(path), path, reader, mcp)
    if path.stat().st_size >= LARGE:
        return read_large(path, partial(_name, path), reader, mcp)
    return _of_form(_with_head(read_json_lines(path)), path, reader, mcp)


def _of_python(path: Path, reader: NamedFiles, mcp: Sequence[str]) -> TaskDataset:
    found = read_python(path)
    if not found.tasks:
        raise DataError(f"{path}: there are no tasks; write a list: tasks = [Task(…), …]")
    with name_place(str(path)):
        tools = [*found.tools, *reader.server_tools(path, mcp)]
        files = [*found.files, *reader.files]
        dataset = TaskDataset(found.tasks, _name(path, None), tools=tools, scorers=found.scorers, files=files)
        dataset.sources = [*found.sources, *reader.sources]
        dataset.simulator = reader.simulator(dataset.simulator)
        return dataset


def _with_head(lines: Located) -> Located:
    """Return JSON Lines as a mapping: a first line without a query has the other keys of a file."""
    values = list(lines.value)
    head = values.pop(0) if values and "query" not in values[0] else {}
    for place, value in enumerate(values):
        refuse_late_head(value, lines.place((len(lines.value) - len(values) + place,)))
    first = len(lines.value) - len(values)
    places: dict[Key, int] = {("tasks", key[0] - first): line for key, line in lines.lines.items() if key[0] >= first}  # type: ignore[operator] # a place
    places[()] = 1
    return Located(lines.name, {**head, "tasks": values}, places)


def _of_form(located: Located, path: Path, reader: NamedFiles, mcp: Sequence[str]) -> TaskDataset:
    if isinstance(located.value, list):
        located = Located(
            located.name, {"tasks": located.value}, {("tasks", *key): line for key, line in located.lines.items()}
        )
    if not isinstance(located.value, dict):
        found = "is empty" if located.value is None else f"holds {located.value!r:.60}"
        raise DataError(f"{path}: {found}; write a list of tasks, or the keys tools and tasks")
    form = validate(FileForm, located)
    tools = [tool for place, given in enumerate(form.tools) for tool in reader.tools(given, located, place)]
    tools += reader.server_tools(path, mcp)
    tasks = [make_task(task, reader, located, place) for place, task in enumerate(form.tasks)]
    name = _name(path, form.name)
    try:
        dataset = TaskDataset(tasks, name, tools=tools, scorers=reader.scorers(), files=reader.files)
        dataset.sources = [path.resolve(), *reader.sources]
    except UsageError:
        for place, task in enumerate(tasks):
            with name_place(located.place(("tasks", place))):
                compile_tasks([replace(task, id=task.id or place + 1)], tools)
        with name_place(str(path)):
            raise
    with name_place(str(path)):
        dataset.simulator = reader.simulator(dataset.simulator)
    return dataset


def _name(path: Path, name: str | None) -> str:
    chosen = name or path.stem
    if not NAME.match(chosen):
        raise DataError(f"{path}: the name of the file must match {NAME.pattern}, since results are named after it")
    return chosen
