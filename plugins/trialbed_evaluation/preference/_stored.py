"""Compares stored runs by preference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from trialbed.contracts import Comparison, Judge
from trialbed.errors import UsageError
from trialbed.records import QueryIds
from trialbed.report import framework_integrity
from trialbed.report.comparison import KnownTrials
from trialbed.scoring import judge_label
from trialbed.settings import RunSettings
from trialbed.store import StoredRun, StoreReader, column_table, open_store, require_frameworks
from trialbed_evaluation.bounded import for_each
from trialbed_evaluation.preference._deciding import Contest, Decision, decide
from trialbed_evaluation.preference._runs import Contests, PreferenceResult, Queries
from trialbed_evaluation.preference._tables import preference_records, preference_table, undecided_lines

Framework = tuple[StoredRun, str]
Side = tuple[StoredRun, Sequence[str]]
"""A run and the frameworks of it that are compared."""


def compare_by_preference(
    values: Sequence[str],
    settings: RunSettings,
    *,
    store: str | None = None,
    force: bool = False,
    allow_incomplete: bool = False,
) -> Comparison:
    """Compare the frameworks of later runs with those of the first, or of one run with its first framework.

    Args:
        values: runs, or ``RUN/FRAMEWORK`` for one framework of a run.
        settings: those of the judge, and where datasets are.
        force: whether only the queries that both have are compared, where they differ.
        allow_incomplete: whether runs may lack trials.

    Raises:
        UsageError: a value is not a stored run, a single run has one framework only, a run lacks trials, a row is void,
            or the runs' queries differ.
    """
    with open_store(store) as reader:
        for value in values:
            if Path(value).exists():
                raise UsageError(f"{value}: --preference needs the answers in the store; name the run by its id")
        sides = [_side(reader, value) for value in values]
        if not allow_incomplete:
            _check_complete([run for run, _ in sides])
        found = asyncio.run(_results(sides, settings, force=force))
    return Comparison(
        document=[one.as_json() for one in found],
        tables=[preference_table(found)],
        records=preference_records(found),
        incomplete=undecided_lines(found),
    )


def _side(reader: StoreReader, value: str) -> Side:
    """Return a run with its frameworks, or with the one that is named after a slash."""
    name, _, framework = value.partition("/")
    run = require_frameworks(reader.run(name))
    labels = (run.framework(framework),) if framework else run.config.frameworks
    _check_not_void(run, labels)
    return run, labels


def _check_not_void(run: StoredRun, labels: Sequence[str]) -> None:
    known = KnownTrials(column_table(run, ()))
    for label in labels:
        if void := framework_integrity(run.config, label, known.findings(label)).void:
            raise UsageError(
                f"the row of {label} in run {run.run_id} is void, so that it is not compared: {void}; name the "
                "frameworks to compare, as RUN/FRAMEWORK"
            )


def _check_complete(runs: Sequence[StoredRun]) -> None:
    for run in runs:
        if run.status != "finished":
            raise UsageError(
                f"run {run.run_id} is {run.status}; run the same `bench run` again to finish it, or give "
                "--allow-incomplete to compare what both have measured"
            )


async def _results(sides: Sequence[Side], settings: RunSettings, *, force: bool) -> list[PreferenceResult]:
    from trialbed.engine import judge_order, judge_report, standing_judge
    from trialbed.scoring_process import ScoringProcesses

    pairs, runs = _pairs(sides), [run for run, _ in sides]
    async with standing_judge(settings) as (judge, completed):
        if type(judge).prefer is Judge.prefer:
            raise UsageError(f"--preference: the judge {completed.judge} does not compare answers; give --judge MODEL")
        report = judge_report(judge, completed)
        found = []
        async with ScoringProcesses(judge_order(completed, judge)) as processes:
            bounded = processes.bounded(judge)

            for baseline, candidate in pairs:
                common = _common_queries(baseline[0], candidate[0], completed.data_dir, force=force)
                contests = Contests(baseline, candidate, *common, judge_label(completed))
                decisions = await _decide_all(contests, bounded, completed)
                names = _name(baseline, runs), _name(candidate, runs)
                found.append(PreferenceResult(*names, report, decisions, contests.unmeasured))
    return found


async def _decide_all(contests: Contests, judge: Judge, settings: RunSettings) -> list[Decision]:
    found: dict[int, Decision] = {}

    async def one(place: int, contest: Contest) -> None:
        found[place] = await decide(judge, contest, votes=settings.judge_votes)

    await for_each(contests, one, most=settings.concurrency)
    return [found[place] for place in range(len(found))]


def _pairs(sides: Sequence[Side]) -> list[tuple[Framework, Framework]]:
    (first, labels), *others = sides
    if not others:
        if len(labels) < 2:
            raise UsageError(f"run {first.run_id} has {labels[0]} only; name another run to compare it with")
        return [((first, labels[0]), (first, label)) for label in labels[1:]]
    pairs = []
    for other, own in others:
        if other.run_id == first.run_id and set(own) & set(labels):
            raise UsageError(f"run {first.run_id} is named twice; name another run to compare it with")
        for label in own:
            if label not in labels and len(labels) > 1:
                raise UsageError(f"run {other.run_id} has {label}, but run {first.run_id} only {', '.join(labels)}")
            pairs.append(((first, label if label in labels else labels[0]), (other, label)))
    return pairs


def _common_queries(
    baseline: StoredRun, candidate: StoredRun, data_dir: Path, *, force: bool
) -> tuple[Queries, QueryIds]:
    """Return the queries of the baseline, and the ids of those that both have."""
    from trialbed.catalogs import run_queries

    one, other = baseline.config, candidate.config
    same = one.query_ids == other.query_ids or set(one.query_ids) == set(other.query_ids)
    if not (same and one.dataset_digest == other.dataset_digest) and not force:
        raise UsageError(
            f"runs {baseline.run_id} and {candidate.run_id} are over different queries; --force compares "
            "those that both have"
        )
    queries = run_queries(one, data_dir)
    return queries, QueryIds(query_id for query_id in queries if query_id in other.query_ids)


def _name(framework: Framework, runs: Sequence[StoredRun]) -> str:
    run, label = framework
    return label if len(runs) == 1 else f"{label} ({run.run_id})"
