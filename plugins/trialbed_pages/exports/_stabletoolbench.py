"""A run as StableToolBench's converted answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from trialbed.errors import DataError
from trialbed.files import replacing
from trialbed.records import Query, TrialResult
from trialbed.report import safe_name
from trialbed.store import StoredRun
from trialbed_pages.exports._converted import converted_answer

QueryId = int | str


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Attributes:
        trials: how many it holds.
        left_out: how many of the run's were not measured, or not yet.
    """

    framework: str
    path: Path
    trials: int
    left_out: int


def export_stabletoolbench(run: StoredRun, queries: Mapping[QueryId, Query], folder: Path) -> Iterator[Exported]:
    """Write a run as StableToolBench's converted answers: ``{folder}/{framework}/{test set}.json``.

    Every framework is a model of its own; so is every repeat, where there are several (``{framework}_r1``). Trials
    that were not measured are left out, failed ones have no ``Finish``. A file is not written without trials. Trials
    are read a part at a time.

    Args:
        queries: the run's queries by id.

    Raises:
        DataError: no trial was measured, a file cannot be written, or the run has a query that is not given.
    """
    is_empty = True
    for framework, trials in groupby(run.each_counted(), lambda result: result.key.framework):
        for exported in _export(run, framework, trials, queries, folder):
            is_empty = False
            yield exported
    if is_empty:
        raise DataError(
            f"run {run.run_id} is {run.status} and has no trial that was measured: there is nothing to write"
        )


def _export(
    run: StoredRun, framework: str, trials: Iterable[TrialResult], queries: Mapping[QueryId, Query], folder: Path
) -> list[Exported]:
    """Write the trials of a framework, which come query by query, into a file for each repeat."""
    ended: Counter[int] = Counter()
    files: dict[int, _AnswerFile] = {}
    with ExitStack() as opened:
        for result in trials:
            repeat = result.key.repeat
            ended[repeat] += 1
            if result.status == "not measured":
                continue
            if repeat not in files:
                name = framework if run.config.repeat == 1 else f"{framework}_r{repeat}"
                path = folder / safe_name(name) / f"{safe_name(run.config.test_set)}.json"
                files[repeat] = opened.enter_context(_open_answers(path))
            files[repeat].add(result.key.query_id, _convert(run, result, queries))
    due = len(run.config.query_ids)
    return [
        Exported(framework, file.path, file.trials, max(ended[repeat], due) - file.trials)
        for repeat, file in sorted(files.items())
    ]


def _convert(run: StoredRun, result: TrialResult, queries: Mapping[QueryId, Query]) -> object:
    query = queries.get(result.key.query_id)
    if query is None:
        raise DataError(
            f"run {run.run_id!r} has a trial of query {result.key.query_id!r}, which {run.config.dataset!r} no longer "
            "has"
        )
    return converted_answer(query.text, run.tools(query.query_id, result.key.framework), result)


class _AnswerFile:
    """A file of answers, which are written one by one.

    Attributes:
        trials: how many it has.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.trials = 0
        self._file = file

    def add(self, query_id: QueryId, answer: object) -> None:
        """Write an answer."""
        text = json.dumps({str(query_id): answer}, ensure_ascii=False)
        self._file.write((", " if self.trials else "").encode() + text[1:-1].encode(errors="backslashreplace"))
        self.trials += 1


@contextmanager
def _open_answers(path: Path) -> Iterator[_AnswerFile]:
    """A file that is there once the body has ended without an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(b"{")
            yield _AnswerFile(path, file)
            file.write(b"}\n")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; name another folder with --output") from error
