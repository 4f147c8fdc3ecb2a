"""Reads runs of the store into the sides of comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from trialbed.errors import TrialbedError
from trialbed.integrity import framework_integrity
from trialbed.records import Run
from trialbed.report._metadata import framework_info, shown_settings
from trialbed.report.comparison._documents import document_file, read_documents
from trialbed.report.comparison._sides import (
    ComparedRun,
    HelperTotals,
    Side,
    compared_settings,
    missing_trials,
)
from trialbed.report.comparison._stored_columns import KnownTrials
from trialbed.report.comparison._trial_table import TrialTable
from trialbed.scoring import ALWAYS
from trialbed.settings import store_file

if TYPE_CHECKING:
    from trialbed.store import ColumnTable, MadeReport, StoredRun

RUN_NAME = re.compile(r"(latest|\d{4,8}|\d{8}T\d{0,6}|\d{8}T\d{6}-[0-9a-f]{0,6})(/.+)?", re.DOTALL)
"""A run's id, the beginning of one, or ``latest``; and one of its frameworks, where only that is meant."""


Meanwhile = Callable[[], AbstractContextManager[object]]


def is_run_name(value: str) -> bool:
    """Return whether a text has the form of a run's id, of its beginning or ``latest``, with a framework or without."""
    return RUN_NAME.fullmatch(value) is not None


def read_sides(value: str, store: str | None) -> list[Side]:
    """Return the sides of a file of result documents, or of a run in the store: one per framework.

    Raises:
        DataError: the file is not a result document, or the run is not in the store.
    """
    return read_groups([value], store)[0]


def read_groups(values: Sequence[str], store: str | None, meanwhile: Meanwhile = nullcontext) -> list[list[Side]]:
    """Return the sides of each value, as ``read_sides`` does; a run that several name is read once.

    Args:
        meanwhile: gives a context in which thousands of trials are read, of which the store has no columns yet.

    Raises:
        DataError: as ``read_sides`` says.
    """
    read = _RunReader(store, meanwhile)
    return [
        read_documents(path) if (path := document_file(value)) is not None else list(read.sides(value))
        for value in values
    ]


class _RunReader:
    """Reads runs of a store, the columns of each once."""

    def __init__(self, store: str | None, meanwhile: Meanwhile) -> None:
        self._store = store
        self._meanwhile = meanwhile
        self._tables: dict[str, ColumnTable] = {}

    def sides(self, value: str) -> Iterator[Side]:
        """Yield the sides of a run: all of its frameworks, or the one that is named after a slash."""
        from trialbed.store import open_store, require_frameworks

        name, _, framework = value.partition("/")
        with open_store(self._store) as reader:
            run = require_frameworks(reader.run(name))
            labels = (run.framework(framework),) if framework else run.config.frameworks
            yield from _sides(run, labels, self._columns(run))

    def _columns(self, run: StoredRun) -> ColumnTable:
        from trialbed.store import trial_columns

        if run.run_id not in self._tables:
            keep = partial(_keep, self._store or store_file())
            self._tables[run.run_id] = trial_columns(run, keep, self._meanwhile)
        return self._tables[run.run_id]


def _keep(place: str, made: MadeReport) -> None:
    """Keep the columns of a run that was interrupted: its end kept none. A store that is read only stays as it is."""
    from trialbed.store import Store

    with suppress(TrialbedError), Store.open(place) as store:
        store.keep_report(made)


def _sides(run: StoredRun, labels: Sequence[str], table: ColumnTable) -> Iterator[Side]:
    # The kinds of scores are those of all frameworks, so that one alone has the same figures as beside the others.
    quality = frozenset(name for name, kind in table.kinds.items() if kind.quality).union(ALWAYS)
    bounded = quality | {name for name, kind in table.kinds.items() if kind.bounded}
    known = KnownTrials(table)
    helpers = HelperTotals(run.record.helpers, *known.count_measured())
    for label in labels:
        side = run_side(
            run.record,
            label,
            known.of(label),
            bounded=bounded,
            quality=quality,
            void=framework_integrity(run.config, label, known.findings(label)).void,
            first_apart=known.first_apart,
        )
        yield replace(side, about=replace(side.about, helpers=helpers))


def run_side(
    run: Run,
    framework: str,
    trials: TrialTable,
    *,
    bounded: frozenset[str],
    quality: frozenset[str],
    void: str = "",
    first_apart: bool = True,
) -> Side:
    """Return the side of a framework in a run, by its trials that count.

    Args:
        bounded, quality, void: as the side has them.
        first_apart: whether times leave out each worker's first trial.
    """
    return Side(
        source=run.run_id,
        name=framework,
        about=_about(run, framework),
        trials=trials,
        bounded=bounded,
        quality=quality,
        missing=missing_trials(
            run.status,
            due=len(run.config.query_ids) * run.config.repeat,
            trials=len(trials),
            measured=int(trials.measured.sum()),
        ),
        described=run.scores,
        first_apart=first_apart,
        void=void,
    )


def _about(run: Run, framework: str) -> ComparedRun:
    config, info = run.config.of(framework), framework_info(run, framework)
    known = {
        **shown_settings(config),
        "test_set": config.test_set,
        "judge_prompt": run.judge.get("prompt"),
        "judge_rules": run.judge.get("rules"),
        "catalog_digest": config.catalog_digest,
        "trialbed_version": config.trialbed_version,
    }
    return ComparedRun(
        framework=framework,
        framework_version=info.version if info else None,
        run_id=run.run_id,
        status=run.status,
        dataset_digest=config.dataset_digest,
        judge=dict(run.judge) or None,
        settings={key: known[key] for key in compared_settings()},
        against=run.against,
        margin=run.margin,
    )
