"""Makes tasks of the forms of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.records import ScriptedCall
from trialbed.tasks import Expect, Task
from trialbed.tasks import call as expected_call
from trialbed_tasks._python import PythonFile, read_python
from trialbed_tasks.forms import Call, ExpectForm, NamedTestForm, TaskForm
from trialbed_tools.forms import DefinitionForm
from trialbed_tools.located import Key, Located, name_place, title
from trialbed_tools.mcp_imports import kept_import
from trialbed_tools.worlds import ENDINGS, FileWorld, make_api, open_world


@dataclass
class NamedFiles:
    """The files that a file of tasks names, each read once.

    Attributes:
        files: those that no agent may read.
        sources: those of them that the tasks are made of; data that Python only names are none.
        answers: the source of the answers of files of tools; None for their own.
    """

    folder: Path
    files: list[Path]
    answers: str | None = None
    read: dict[Path, PythonFile] = field(default_factory=dict)
    worlds: list[FileWorld] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)

    def python(self, name: str) -> PythonFile:
        path = self.folder / name
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        resolved = path.resolve()
        if resolved not in self.read:
            self.read[resolved] = read_python(path)
            self.files += self.read[resolved].files
            self.sources += self.read[resolved].sources
        return self.read[resolved]

    def tools(self, given: str | DefinitionForm, located: Located, place: int) -> Iterable[Any]:
        """Return the tools of an entry of ``tools``."""
        if isinstance(given, DefinitionForm):
            return [make_api(given)]
        with name_place(located.place(("tools", place)), "tools"):
            if given.endswith(ENDINGS):
                return self._world(given).tools
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

    def _world(self, name: str) -> FileWorld:
        path = self.folder / name
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        return self._add_world(path)

    def _add_world(self, path: Path) -> FileWorld:
        found = open_world(path, self.answers)
        own = [file.resolve() for file in found.files]
        self.files += own
        self.sources += own
        self.worlds.append(found)
        return found

    def server_tools(self, tasks: Path, mcp: Sequence[str]) -> Iterator[Any]:
        """Yield the tools of MCP servers, which are kept in files beside that of the tasks.

        Raises:
            ToolsUnreachable: a server that has no such file yet does not list its tools.
        """
        for number, address in enumerate(mcp, 1):
            yield from self._add_world(kept_import(tasks, address, number)).tools

    def simulator(self, default: str) -> str:
        """Return the simulator that the files of tools ask for.

        Raises:
            DataError: two of them ask for different ones.
        """
        found = {world.simulator: world.path for world in self.worlds}
        if len(found) > 1:
            raise DataError(f"{' and '.join(map(str, found.values()))}: answers: they differ; let them be the same")
        return next(iter(found), default)

    def check(self, name: str) -> Any:
        """Return a function that a task names as its check."""
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


def make_task(form: TaskForm, files: NamedFiles, located: Located, place: int) -> Task:
    """Return the task of a form.

    Raises:
        DataError: a check is not there, or a call is none; names the line and the key.
    """
    expect: Expect | tuple[()] = ()
    if isinstance(form.expect, ExpectForm):
        expect = _expect(form.expect, files, located, ("tasks", place, "expect"))
    elif form.expect is not None:
        expect = Expect(_texts(form.expect))
    if form.tests:
        expect = replace(expect or Expect(), tests=_tests(form.tests, files, located, place))
    return Task(
        form.query,
        tools=form.tools,
        expect=expect,
        answer=form.answer,
        state=form.state,
        id=form.id,
    )


def _tests(forms: list[NamedTestForm], files: NamedFiles, located: Located, place: int) -> dict[str, Expect]:
    keys: list[Key] = [("tasks", place, "tests", number) for number in range(len(forms))]
    return {form.name: _expect(form, files, located, key) for form, key in zip(forms, keys, strict=True)}


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
    return list(_each_call(given, located, key))


def _each_call(given: list[Call], located: Located, key: Key) -> Iterator[str | ScriptedCall]:
    for number, one in enumerate(given):
        if isinstance(one, str):
            yield one
        elif len(one) == 1:
            ((name, arguments),) = one.items()
            yield expected_call(name, **arguments)
        else:
            place = located.place((*key, number))
            raise DataError(f"{place}: {title((*key, number))}a call has one name: write {{find: {{id: 7}}}}")


def _texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given
