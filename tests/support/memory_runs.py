"""Reports of runs whose attempts a test has at hand: they are stored, and read as any run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from trialbed.attribution import attribute
from trialbed.records import GoldAnswer, Query, Run, ToolSpec, TrialResult
from trialbed.report import Report, legacy_document, read_report
from trialbed.scoring import absent_scores
from trialbed.store import Store, StoredRun, open_store

Queries = Mapping[int | str, Query]


@cache
def _empty_store() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "empty.db")
        Store.open(str(path)).close()
        return path.read_bytes()


@contextmanager
def stored_run(
    run: Run,
    attempts: Sequence[TrialResult],
    gold: Mapping[int | str, GoldAnswer] | None = None,
    location: str | None = None,
) -> Iterator[StoredRun]:
    """Store a run, and give it as readers get it.

    Args:
        gold: the answers to the expected calls of queries.
        location: the store; a new one if not given.
    """
    with TemporaryDirectory() as folder:
        if location is None:
            location = str(Path(folder, "runs.db"))
            Path(location).write_bytes(_empty_store())
        with Store.open(location) as store:
            store.create_run(run)
            for answer in (gold or {}).values():
                store.add_gold_answer(run.run_id, answer)
            store.add_trials(run.run_id, attempts)
        with open_store(location) as reader:
            yield reader.run(run.run_id)


def ended_with(result: TrialResult, run: Run, query: Query, tools: Sequence[ToolSpec] | None = None) -> TrialResult:
    """Return a result with the facts that the engine adds when the trial of a query ends.

    Args:
        tools: those on offer; None if the result says what became of the expected calls.
    """
    prices = run.prices_of(result.key.framework)
    attributed = result.gold_calls
    if tools is not None:
        attributed = None if result.status == "not measured" else attribute(query, tools, result)
    used = [call.usage for call in result.wire.model_calls if call.usage is not None]
    return result.model_copy(
        update={
            "absent": absent_scores(query),
            "cost": None if prices is None else sum(map(prices.cost, used)),
            "gold_calls": attributed,
        }
    )


def report_of(
    run: Run,
    queries: Queries,
    attempts: Sequence[TrialResult],
    *,
    tools: Sequence[ToolSpec] | None = None,
    gold: Mapping[int | str, GoldAnswer] | None = None,
    allow_incomplete: bool | None = False,
    aggregate: Callable[..., Mapping[str, Any]] | None = None,
    **more: Any,
) -> Report:
    """The report of a run with these attempts; the other arguments are those of ``read_report``."""
    known = [
        ended_with(one, run, queries[one.key.query_id], tools) if one.key.query_id in queries else one
        for one in attempts
    ]
    plugins = SimpleNamespace(descriptions=dict, aggregate=aggregate) if aggregate else None
    with stored_run(run, known, gold) as stored:
        report = read_report(stored, queries, plugins, allow_incomplete=allow_incomplete, **more)
        rows = report.table["row"].tolist()
        whole = dict(zip(rows, report.results(rows), strict=True))
    return replace(report, results=lambda asked: (whole[row] for row in asked))


def result_document(
    run: Run,
    framework: str,
    queries: Queries,
    results: Sequence[TrialResult],
    extra: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The result document of a framework in a run with these attempts.

    Args:
        extra: figures that plugins add.
        **more: as ``report_of`` takes it.
    """
    report = report_of(run, queries, results, aggregate=lambda *_: extra or {}, **more)
    return legacy_document(report, framework)
