"""Tasks as a dataset, and its queries as a file."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trialbed.contracts import Dataset
from trialbed.errors import UsageError
from trialbed.files import replacing
from trialbed.records import GoldCall, Query
from trialbed.settings import make_folder, state_dir
from trialbed.tasks._task import Task, Tool, compile_tasks

if TYPE_CHECKING:
    from trialbed.wire.json_schemas import JsonSchema

FOLDER = "tasks"
"""The folder of tasks in the state folder, for ``bench show`` to find the tasks of a run again."""

TASKS = "tasks"
"""The default name of tasks."""


class TaskDataset(Dataset):
    """Tasks with the functions that they need.

    Args:
        tools: the tools that tasks may name; tasks that name no tools have all of them.
        files: the files of the tasks and their data, which no agent may read.

    Attributes:
        sources: the files that the tasks are made of, which may be given to others; empty if the tasks are objects.

    Raises:
        UsageError: a task cannot be one; says which.
    """

    def __init__(
        self,
        tasks: Iterable[Task | Query],
        name: str = TASKS,
        *,
        tools: Iterable[Tool] = (),
        scorers: Mapping[str, object] | None = None,
        files: Sequence[Path] = (),
    ) -> None:
        compiled = compile_tasks(tasks, tools)
        self.name = self.test_set = name
        self.functions = compiled.functions
        self.checks = compiled.checks
        self.scorers = scorers or {}
        self.files = files
        self.sources: Sequence[Path] = ()
        self._queries = compiled.queries

    def check_calls(self) -> None:
        """See that the functions take the arguments that are expected of their calls; else no agent solves the task.

        Raises:
            UsageError: one does not; says why.
        """
        if not self.functions:
            return
        from trialbed.wire.json_schemas import JsonSchema  # most programs do not need it

        schemas = {api.ref: JsonSchema(api.parameters_schema()) for api in self.apis() if api.ref in self.functions}
        for query in self._queries:
            for call in query.gold_calls:
                problem = misfit(call, schemas[call.api]) if call.api in schemas else ""
                if problem:
                    raise UsageError(
                        f"task {query.query_id}: calls: {call.api.api_name} does not take the arguments "
                        f"{call.arguments!r:.60}: {problem}"
                    )

    def queries(self) -> Sequence[Query]:
        """Return all queries, in the order of the tasks."""
        return self._queries


def misfit(call: GoldCall, schema: JsonSchema) -> str:
    """Return why an Api with this schema does not take the arguments that are expected of a call; empty if it may."""
    from trialbed.tool_calls import examples_of
    from trialbed.wire.json_schemas import Undecided

    given = call.arguments
    if given is not None and (example := examples_of(given)).keys() == given.keys():  # otherwise, some have no example
        with suppress(Undecided):
            for problem in schema.problems(example, 1):
                return ": ".join(filter(None, [".".join(map(str, problem.path)), problem.message]))
    return ""


def write_queries(queries: Sequence[Query], name: str, folder: Path | None = None) -> Path:
    """Store queries as a dataset's file, and return its path; equal queries share a file.

    Args:
        folder: contains the folder of tasks; None for the state folder.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}", name):
        raise UsageError(f"name: {name!r} cannot name tasks: use letters, digits, '.', '_', '-' and spaces")
    folder = (folder or state_dir()) / FOLDER
    make_folder(folder, "TRIALBED_STATE_DIR")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".queries-") as work:
        made, digest = Path(work, "queries.json"), hashlib.sha256()
        with replacing(made) as file:
            file.write(f'{{"name": "{name}", "queries": ['.encode())
            for place, query in enumerate(queries):
                part = f"{', ' if place else ''}{query.model_dump_json()}".encode()
                digest.update(part)
                file.write(part)
            file.write(b"]}\n")
        path = folder / f"{name}-{digest.hexdigest()[:12]}.json"
        made.replace(path)
    return path
