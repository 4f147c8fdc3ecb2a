"""The contests between the frameworks of stored runs, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from trialbed.contracts import AnswerStatus, Candidate
from trialbed.errors import UsageError
from trialbed.records import Query
from trialbed.scoring import JUDGED, judge_label
from trialbed.statistics import bounded_mean_interval, paired_test
from trialbed.store import StoredRun, StoredTrial
from trialbed_evaluation.preference._deciding import Contest, Contestant, Decision, Side

Queries = Mapping[int | str, Query]
Framework = tuple[StoredRun, str]
"""A framework of a stored run."""


def contests_of(baseline: Framework, candidate: Framework, queries: Queries, label: str) -> tuple[list[Contest], int]:
    """Return the contests over the queries and repeats that were measured for both, and how many were not.

    Args:
        queries: those that both have.
        label: of the judge. Its own verdicts on both are used where the store has them, else those of the runs' judge.

    Raises:
        UsageError: the runs have different judges, and this judge has not judged both.
    """
    name = _score_name(baseline[0], candidate[0], label)
    sides = [_by_key(run, framework, name) for run, framework in (baseline, candidate)]
    repeats = range(min(run.config.repeat for run, _ in (baseline, candidate)))
    keys = [(query_id, repeat) for query_id in queries for repeat in repeats]
    both = [key for key in keys if all(key in side for side in sides)]
    contests = [
        Contest(query=queries[key[0]], repeat=key[1], baseline=sides[0][key], candidate=sides[1][key]) for key in both
    ]
    return contests, len(keys) - len(both)


def preference_document(
    names: tuple[str, str], judge: Mapping[str, Any], decisions: Sequence[Decision], not_measured: int
) -> dict[str, Any]:
    """Return all of it, as JSON. The win rate is the wins over the contests that were decided, ties among them.

    Repeats of a query count as one observation: in the intervals, which are those of other scores, and in p, which is
    McNemar's where each query has one contest, and else that of a permutation test over the queries' means.

    Args:
        names: of the baseline and of the candidate.
        judge: its description in a document.
    """
    counts = Counter(decision.winner for decision in decisions)
    decided = len(decisions) - counts[None]
    wins, losses = counts["candidate"], counts["baseline"]
    asked = sum(len(decision.votes) for decision in decisions)
    return {
        "baseline": names[0],
        "candidate": names[1],
        "judge": dict(judge),
        "contests": len(decisions),
        "decided": decided,
        "undecided": counts[None],
        "not_measured": not_measured,
        "wins": wins,
        "losses": losses,
        "ties": counts["tie"],
        "win_rate": _rate(decisions, "candidate"),
        "loss_rate": _rate(decisions, "baseline"),
        "p": _p_value(decisions) if wins + losses else None,
        "by": dict(Counter(decision.by for decision in decisions)),
        "order_consistency": sum(decision.consistent for decision in decisions) / asked if asked else None,
        "results": [decision.model_dump(mode="json") for decision in decisions],
    }


def _by_query(decisions: Sequence[Decision]) -> dict[int | str, list[Decision]]:
    """Return the contests that were decided, by their query."""
    found: dict[int | str, list[Decision]] = {}
    for decision in decisions:
        if decision.winner is not None:
            found.setdefault(decision.query_id, []).append(decision)
    return found


def _rate(decisions: Sequence[Decision], winner: Side) -> dict[str, float] | None:
    """Return the share of the contests that this side won."""
    won = {query: [float(each.winner == winner) for each in own] for query, own in _by_query(decisions).items()}
    if not won:
        return None
    interval = bounded_mean_interval(won)
    every = [value for values in won.values() for value in values]
    return {"value": sum(every) / len(every), "low": interval.low, "high": interval.high}


def _p_value(decisions: Sequence[Decision]) -> float:
    signs = {"candidate": 1.0, "baseline": -1.0}
    found = [[signs.get(each.winner or "", 0.0) for each in own] for own in _by_query(decisions).values()]
    return paired_test([fmean(own) for own in found]).p


def _score_name(baseline: StoredRun, candidate: StoredRun, label: str) -> str:
    """Return the score that has the statuses of both."""
    own = f"{JUDGED}@{label}"
    if all(_has(run, own) for run in (baseline, candidate)):
        return own
    labels = [judge_label(run.config) for run in (baseline, candidate)]
    if labels[0] != labels[1]:
        raise UsageError(
            f"run {baseline.run_id} was judged by {labels[0]} and run {candidate.run_id} by {labels[1]}, whose "
            f"verdicts are not compared; judge both with one of them first: bench score {candidate.run_id} --judge …"
        )
    return JUDGED


def _has(run: StoredRun, name: str) -> bool:
    answered = run.trials(status="answered")
    return bool(answered) and all(trial.score(name) is not None for trial in answered)


def _by_key(run: StoredRun, framework: str, name: str) -> dict[tuple[int | str, int], Contestant]:
    trials = (trial for trial in run.trials(framework=framework) if trial.status != "not measured")
    return {(trial.key.query_id, trial.key.repeat): _contestant(trial, name) for trial in trials}


def _contestant(trial: StoredTrial, name: str) -> Contestant:
    answer = trial.answer
    if trial.status != "answered" or answer is None or not answer.final_answer.strip():
        return Contestant(answer=None)
    score = trial.score(name)
    status: AnswerStatus | None = score.label if score and score.value is not None else None  # type: ignore[assignment] # a verdict's label is its status
    return Contestant(answer=Candidate(answer=answer, wire=trial.wire), status=status)
