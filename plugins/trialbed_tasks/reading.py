"""Read files of tasks in Python, YAML, JSON Lines and CSV as datasets, and give the JSON Schema of their format."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from trialbed.errors import DataError, UsageError
from trialbed.files import read_lines
from trialbed.records import Query, ScriptedCall, User
from trialbed.suggestions import closest, did_you_mean
from trialbed.tasks import Expect, Task, TaskDataset, Turn
from trialbed.tasks import call as expected_call
from trialbed_tasks.python import PythonFile, read_python
from trialbed_tools.forms import NAME, DefinitionForm
from trialbed_tools.imports import kept_import
from trialbed_tools.located import LARGEST, Key, Located, name_place, read_json_line, read_yaml, title, validate
from trialbed_tools.worlds import ENDINGS, FileWorld, make_api, open_world

LARGEST_YAML = 8 * 2**20
"""Largest YAML file, in bytes. It is parsed as a whole and takes about fifty times as much memory."""

ANY_TASK = {"query": "?"}
"""Stands for the tasks of JSON Lines while the other keys are read."""

COLUMNS = {"task": "query", "query": "query", "expect": "expect", "id": "id", "tags": "tags"}
"""Maps columns of a table to the keys of a task."""

WORDS = ("query", "turns", "user")
"""The keys for a task's words."""

MARKS = {"expect": re.compile(";"), "tags": re.compile("[;,]")}
"""The separators of facts or tags in a cell."""

VARIABLE = re.compile(r"\{([^{}]{1,100})\}")

Line = tuple[int, dict[str, Any]]

Call = str | dict[str, dict[str, Any]]
"""``find`` for a call with any arguments, ``{find: {id: 7}}`` for a call with these."""


class _TaskForm(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AtMostForm(_TaskForm):
    """The limits of a trial."""

    calls: int | None = Field(None, ge=0, description="Calls of tools.")
    requests: int | None = Field(None, ge=0, description="Requests to the model.")
    tokens: int | None = Field(None, ge=0, description="Tokens of all requests and answers.")
    seconds: float | None = Field(None, gt=0, strict=False, description="Wall time, in seconds.")


class ExpectForm(_TaskForm):
    """The expectations of a task, which is solved if all of them are met."""

    facts: str | list[str] = Field(default=[], description="Texts that the answer must say.")
    calls: list[Call] | None = Field(
        None, description="The calls that solve the task: a tool's name, or {name: {argument: value}}. [] for none."
    )
    ways: list[list[Call]] = Field(default=[], description="Other series of calls that solve the task as well.")
    order: Literal["any", "given"] = Field("any", description="Whether the order of the calls matters.")
    only: bool = Field(default=False, description="No other calls may be made.")
    never: list[str] = Field(default=[], description="Names of tools that must not be called.")
    state: Any = Field(None, description="The state of the world after a right solution.")
    at_most: AtMostForm = Field(AtMostForm(), description="The limits of a trial.")
    check: str | list[str] = Field(
        default=[],
        description="Functions that look at the trial, by name, or FILE.py:name. They return a bool or a text.",
    )
    criteria: str | list[str] = Field(
        default=[],
        description="Texts, such as 'The answer is polite', that the model of --judge-model finds true or not.",
    )


class NamedTestForm(ExpectForm):
    """Expectations under a name."""

    name: str = Field(min_length=1, max_length=200, description="Name under which the result is reported.")


class TurnForm(_TaskForm):
    """A message of the user, with the expectations of the agent's work on it."""

    user: str = Field(min_length=1, description="The message, as agents get it.")
    expect: str | list[str] | ExpectForm | None = Field(
        None, description="Facts of a right answer to it, or all that is expected until the next message."
    )


class TaskForm(_TaskForm):
    """A task."""

    query: str = Field("", description="The task in words, as agents get it.")
    turns: list[str | TurnForm] = Field(
        default=[], description="In place of query: the messages of a user who writes several, one after each answer."
    )
    lengths: list[int] = Field(
        default=[],
        description="Numbers of messages: with turns, the task stands once for each, with small talk before the last.",
    )
    user: User | None = Field(None, description="In place of query: a user who answers the agent.")
    policy: str = Field("", description="Written rules, which the agent gets with its instructions.")
    id: int | str | None = Field(None, description="Unique in the file; the task's place if left out.")
    tools: list[str] | None = Field(None, description="Names of the file's tools; all of them if left out.")
    expect: str | list[str] | ExpectForm | None = Field(
        None, description="Facts of a right answer, or all that is expected."
    )
    tests: list[NamedTestForm] = Field(
        default=[], description="Further expectations, each with its own name and outcome."
    )
    answer: str | None = Field(None, description="A right answer in words, for judges that read one.")
    state: Any = Field(None, description="The first state of the world that the tools act on.")
    allow_forced_calls: bool = Field(
        default=False, description="Count calls that the agent's request forced with tool_choice."
    )
    tags: str | list[str] = Field(default=[], description="Groups that it belongs to, for bench run --only-tag.")

    @model_validator(mode="after")
    def _in_words(self) -> TaskForm:
        given = [bool(self.query), bool(self.turns), bool(self.user)]
        if not any(given):
            raise PydanticCustomError("query", "query: the key is missing, or empty; write the task, or its turns")
        if sum(given) > 1:
            raise PydanticCustomError("query", "write one of query, turns and user")
        return self

    @field_validator("tests")
    @classmethod
    def _named_apart(cls, value: list[NamedTestForm]) -> list[NamedTestForm]:
        names = [one.name for one in value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            message = "two tests are called {name}; give one another name"
            raise PydanticCustomError("name", message, {"name": repr(twice)})
        return value


class FileForm(_TaskForm):
    """A file of tasks."""

    name: str | None = Field(None, pattern=NAME.pattern, description="Name of the tasks; the file's if left out.")
    tools: str | list[str | DefinitionForm] = Field(
        default=[],
        description="Python files with tools, files that bench tools import wrote, or definitions of tools that a "
        "simulator answers for.",
    )
    tasks: list[TaskForm] = Field(min_length=1)

    @field_validator("tools")
    @classmethod
    def _as_list(cls, value: str | list[str | DefinitionForm]) -> list[str | DefinitionForm]:
        return [value] if isinstance(value, str) else value


def file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of tasks."""
    found = FileForm.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def read_tasks(path: Path, mcp: Sequence[str] = (), answers: str | None = None) -> TaskDataset:
    """Return the tasks of a Python, YAML, JSON Lines or CSV file.

    Args:
        mcp: commands or URLs of servers that offer further tools.
        answers: the source of answers of all files of tools, overriding their own.

    Raises:
        UsageError: there is no such file.
        DataError: the file is faulty; the message names the file, the line and the key.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    files = NamedFiles(path.parent, [], answers)
    name, place = path.stem, str(path)
    tasks: Iterable[Task | Query]
    if path.suffix == ".py":
        found = files.python(path.name)
        tools, tasks = list(found.tools), found.tasks
        if not tasks:
            raise DataError(f"{path}: there are no tasks; write a list: tasks = [Task(…), …]")
    else:
        files.files.append(path.resolve())
        files.sources.append(path.resolve())
        head, forms = _read_lines(path) if path.suffix in (".jsonl", ".csv") else _read_yaml(path)
        form = validate(FileForm, head)
        name = form.name or name
        tools = [tool for number, given in enumerate(form.tools) for tool in files.tools(given, head, number)]

        def make_tasks() -> Iterator[Task]:
            nonlocal place
            for number, (located, task) in enumerate(forms(form)):
                place = located.place(("tasks", number))
                yield make_task(task, files, located, number)

        tasks = make_tasks()
    if not NAME.match(name):
        raise DataError(f"{path}: the name of the file must match {NAME.pattern}, since results are named after it")
    tools += files.server_tools(path, mcp)
    try:
        dataset = TaskDataset(tasks, name, tools=tools, files=files.files)
    except UsageError as error:
        raise DataError(f"{place}: {error}") from error
    with name_place(str(path)):
        dataset.simulator = files.simulator(dataset.simulator)
    dataset.scorers = files.scorers()  # including files that tasks name
    dataset.sources = files.sources
    return dataset


TaskForms = Callable[[FileForm], Iterable[tuple[Located, TaskForm]]]
"""Returns the tasks of a file with their lines, after its other keys were read."""


def _read_yaml(path: Path) -> tuple[Located, TaskForms]:
    if path.stat().st_size > LARGEST_YAML:
        raise DataError(
            f"{path}: has more than {LARGEST_YAML:,} bytes, which is too much for YAML: write the tasks as JSON "
            "Lines, in a file that ends in .jsonl"
        )
    located = read_yaml(path)
    if isinstance(located.value, list):
        lines = {("tasks", *key): line for key, line in located.lines.items()}
        located = Located(located.name, {"tasks": located.value}, lines)
    if not isinstance(located.value, dict):
        found = "is empty" if located.value is None else f"holds {located.value!r:.60}"
        raise DataError(f"{path}: {found}; write a list of tasks, or the keys tools and tasks")
    return located, lambda form: ((located, task) for task in form.tasks)


def _read_lines(path: Path) -> tuple[Located, TaskForms]:
    """Read line by line. A first line of JSON without a query has the other keys of the file."""
    lines = _rows(path) if path.suffix == ".csv" else _objects(path)
    first = list(islice(lines, 1))
    head: dict[str, Any] = {}
    if first and first[0][1].keys().isdisjoint(WORDS):
        head, first = first[0][1], list(islice(lines, 1))

    def forms(_: FileForm) -> Iterator[tuple[Located, TaskForm]]:
        for place, (number, value) in enumerate(chain(first, lines)):
            if value.keys().isdisjoint(WORDS) and not set(value) - set(FileForm.model_fields):
                raise DataError(f"{path}:{number}: keys for the whole file belong in its first line")
            located = Located(str(path), value, {("tasks", place): number})
            yield located, validate(TaskForm, located, ("tasks", place))

    return Located(str(path), {**head, "tasks": [ANY_TASK] * len(first)}, {(): 1}), forms


def _objects(path: Path) -> Iterator[Line]:
    """Yield the objects in the nonempty lines of JSON, with their line numbers."""
    for number, text in _lines(path):
        if text.strip():
            yield number, read_json_line(text.rstrip("\r\n"), f"{path}:{number}")


def _rows(path: Path) -> Iterator[Line]:
    """Yield the tasks in the nonempty rows of a table, with the line numbers of their starts."""
    lines = _lines(path)
    first = next(lines, (1, ""))[1]
    rows = csv.reader(chain([first], (text for _, text in lines)), delimiter=max(",;\t", key=first.count), strict=True)
    names: list[str] = []
    number = 1
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise DataError(f"{path}:{number}: is not valid CSV: {error}") from error
        if row is None:
            return
        with name_place(f"{path}:{number}"):
            if not names:
                names = _column_names(row)
            elif any(map(str.strip, row)):
                yield number, _row_task(names, row)
        number = rows.line_num + 1


def _column_names(row: Sequence[str]) -> list[str]:
    """Return the names of the columns, with the task's keys in lower case."""
    names = [COLUMNS.get(name.strip().lower(), name.strip()) for name in row]
    if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
        raise DataError(f"two columns are {twice[0]!r:.60}; give one another name")
    if "query" not in names:
        raise DataError(f"there is no column 'task'; the columns are {', '.join(names) or 'none':.200}")
    return names


def _row_task(names: Sequence[str], row: Sequence[str]) -> dict[str, Any]:
    """Return the task of a row. In its text, ``{name}`` stands for the value of another column.

    Files without further columns may have other braces in their texts.
    """
    if len(row) != len(names):
        raise DataError(f"has {len(row)} cells, and the first line has {len(names)}")
    cells = dict(zip(names, row, strict=True))
    text, key = cells.pop("query").strip(), cells.get("id", "").strip()
    lists = {name: [part.strip() for part in mark.split(cells.get(name, ""))] for name, mark in MARKS.items()}
    cells.pop("", None)

    def value_of(found: re.Match[str]) -> str:
        name = found[1].strip()
        if name not in cells and name.isidentifier() and cells.keys() - COLUMNS.values():
            raise DataError(f"{found[0]}: there is no column {name!r}{did_you_mean(closest(name, cells))}")
        return cells.get(name, found[0]).strip()

    return {
        "query": VARIABLE.sub(value_of, text),
        **({"id": key} if key else {}),
        **{name: kept for name, parts in lists.items() if (kept := [part for part in parts if part])},
    }


def _lines(path: Path) -> Iterator[tuple[int, str]]:
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
                yield number, text
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


@dataclass
class NamedFiles:
    """The files that a file of tasks names, each read once.

    Attributes:
        files: the files that agents must not read.
        sources: the subset that defines the tasks, without data that only Python files name.
        answers: the source of answers of all files of tools; None keeps their own.
    """

    folder: Path
    files: list[Path]
    answers: str | None = None
    read: dict[Path, PythonFile] = field(default_factory=dict)
    worlds: list[FileWorld] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)

    def python(self, name: str) -> PythonFile:
        """Return the content of a Python file. Each file is run once."""
        path = self._file(name)
        resolved = path.resolve()
        if resolved not in self.read:
            self.read[resolved] = read_python(path)
            self.files += self.read[resolved].files
            self.sources += self.read[resolved].sources
        return self.read[resolved]

    def tools(self, given: str | DefinitionForm, located: Located, place: int) -> Iterable[Any]:
        """Return the tools of an entry under ``tools``."""
        if isinstance(given, DefinitionForm):
            return [make_api(given)]
        with name_place(located.place(("tools", place)), "tools"):
            if given.endswith(ENDINGS):
                return self._world_tools(self._file(given))
            name, _, function = given.partition(":")
            if not name.endswith(".py"):
                raise DataError(
                    f"{given!r} is not a file of tools; write FILE.py, FILE.py:function, or the FILE.yaml of "
                    "bench tools import"
                )
            found = self.python(name)
            if function:
                return [found.function(function)]
            if not found.tools:
                raise DataError(f"{name} has no tools; write @tool above its functions: from trialbed import tool")
            return found.tools

    def _file(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        return path

    def _world_tools(self, path: Path) -> Iterable[Any]:
        found = open_world(path, self.answers)
        own = [file.resolve() for file in found.files]
        self.files += own
        self.sources += own
        self.worlds.append(found)
        return found.tools

    def server_tools(self, tasks: Path, mcp: Sequence[str]) -> Iterator[Any]:
        """Yield the tools of MCP servers, which are stored in files next to the tasks.

        Raises:
            ToolsUnreachable: a server without such a file does not list its tools.
        """
        for number, address in enumerate(mcp, 1):
            yield from self._world_tools(kept_import(tasks, address, number))

    def simulator(self, default: str) -> str:
        """Return the simulator that the files of tools ask for.

        Raises:
            DataError: they ask for different ones.
        """
        found = {world.simulator: world.path for world in self.worlds}
        if len(found) > 1:
            raise DataError(f"{' and '.join(map(str, found.values()))}: answers: they differ; make them equal")
        return next(iter(found), default)

    def check(self, name: str) -> Any:
        """Return the function for a check of a task."""
        file, colon, function = name.rpartition(":")
        if colon:
            return self.python(file).function(function)
        for found in self.read.values():
            if hasattr(found.module, name):
                return found.function(name)
        raise DataError(f"no Python file under tools has a function {name!r}; write FILE.py:{name}")

    def scorers(self) -> dict[str, object]:
        """Return the scores of all files."""
        return {name: scorer for found in self.read.values() for name, scorer in found.scorers.items()}


SAME = ("tools", "answer", "state", "id", "allow_forced_calls", "tags", "lengths", "policy", "user")
"""The keys of a task that are passed to ``Task`` unchanged."""


def make_task(form: TaskForm, files: NamedFiles, located: Located, place: int) -> Task:
    """Return the task of a form.

    Raises:
        DataError: a check is missing, or a call is malformed; the message names the line and the key.
    """
    key: Key = ("tasks", place)
    expect = _read_expect(form.expect, files, located, key)
    if form.tests:
        tests = {
            test.name: _expect(test, files, located, (*key, "tests", number)) for number, test in enumerate(form.tests)
        }
        expect = replace(expect or Expect(), tests=tests)
    turns = [
        turn
        if isinstance(turn, str)
        else Turn(turn.user, expect=_read_expect(turn.expect, files, located, (*key, "turns", number)))
        for number, turn in enumerate(form.turns)
    ]
    return Task(form.query, expect=expect, turns=turns, **{name: getattr(form, name) for name in SAME})


def _read_expect(
    given: str | list[str] | ExpectForm | None, files: NamedFiles, located: Located, key: Key
) -> Expect | tuple[()]:
    if isinstance(given, ExpectForm):
        return _expect(given, files, located, (*key, "expect"))
    return () if given is None else Expect(_texts(given))


def _expect(form: ExpectForm, files: NamedFiles, located: Located, key: Key) -> Expect:
    with name_place(located.place((*key, "check")), f"{title((*key, 'check'))}".removesuffix(": ")):
        checks = [files.check(name) for name in _texts(form.check)]
    return Expect(
        _texts(form.facts),
        calls=None if form.calls is None else _calls(form.calls, located, (*key, "calls")),
        ways=[_calls(way, located, (*key, "ways", number)) for number, way in enumerate(form.ways)],
        in_order=form.order == "given",
        only=form.only,
        never=form.never,
        state=form.state,
        most_calls=form.at_most.calls,
        most_requests=form.at_most.requests,
        most_tokens=form.at_most.tokens,
        most_seconds=form.at_most.seconds,
        check=checks,
        criteria=_texts(form.criteria),
    )


def _calls(given: list[Call], located: Located, key: Key) -> list[str | ScriptedCall]:
    found: list[str | ScriptedCall] = []
    for number, one in enumerate(given):
        if not isinstance(one, str) and len(one) != 1:
            place = located.place((*key, number))
            raise DataError(f"{place}: {title((*key, number))}a call has one name: write {{find: {{id: 7}}}}")
        found += [one] if isinstance(one, str) else [expected_call(name, **given) for name, given in one.items()]
    return found


def _texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given
