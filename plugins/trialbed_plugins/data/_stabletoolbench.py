"""A run as StableToolBench's converted answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import DataError
from trialbed.files import replace_file
from trialbed.records import Query
from trialbed.report import safe_name
from trialbed.store import StoredRun, StoredTrial
from trialbed_plugins.data._converted import converted_answer

QueryId = int | str


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Attributes:
        trials: how many it holds.
        left_out: how many of the run's were not measured, or not yet.
    """

    path: Path
    trials: int
    left_out: int


def export_stabletoolbench(run: StoredRun, queries: Mapping[QueryId, Query], folder: Path) -> Iterator[Exported]:
    """Write a run as StableToolBench's converted answers: ``{folder}/{framework}/{test set}.json``.

    Every framework is a model of its own; so is every repeat, where there are several (``{framework}_r1``). Trials
    that were not measured are left out, failed ones have no ``Finish``. A file is not written without trials.

    Args:
        queries: the run's queries by id.

    Raises:
        DataError: no trial was measured, a file cannot be written, or the run has a query that is not given.
    """
    if all(trial.status == "not measured" for trial in run.trials()):
        raise DataError(
            f"run {run.run_id} is {run.status} and has no trial that was measured: there is nothing to write"
        )
    for framework in run.config.frameworks:
        places = {query_id: place for place, query_id in enumerate(run.config.query_ids)}
        trials = sorted(run.trials(framework=framework), key=lambda trial: places.get(trial.key.query_id, len(places)))
        for repeat in range(run.config.repeat):
            own = [trial for trial in trials if trial.key.repeat == repeat]
            measured = [trial for trial in own if trial.status != "not measured"]
            if not measured:
                continue
            name = framework if run.config.repeat == 1 else f"{framework}_r{repeat}"
            path = folder / safe_name(name) / f"{safe_name(run.config.test_set)}.json"
            _write(path, {str(trial.key.query_id): _convert(run, trial, queries) for trial in measured})
            yield Exported(path, len(measured), max(len(own), len(places)) - len(measured))


def _convert(run: StoredRun, trial: StoredTrial, queries: Mapping[QueryId, Query]) -> object:
    query = queries.get(trial.key.query_id)
    if query is None:
        raise DataError(
            f"run {run.run_id!r} has a trial of query {trial.key.query_id!r}, which {run.config.dataset!r} no longer "
            "has"
        )
    return converted_answer(query.text, run.tools(query.query_id, trial.key.framework), trial.result)


def _write(path: Path, answers: Mapping[str, object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(answers, ensure_ascii=False)
        replace_file(path, f"{text}\n".encode(errors="backslashreplace"))
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; name another folder with --output") from error
