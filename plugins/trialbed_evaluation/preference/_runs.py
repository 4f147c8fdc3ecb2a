"""The contests between the frameworks of stored runs, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from trialbed.contracts import AnswerStatus, Candidate
from trialbed.errors import UsageError
from trialbed.records import Query
from trialbed.scoring import JUDGED, judge_label
from trialbed.statistics import Estimate, bounded_mean_interval, paired_test
from trialbed.store import StoredRun, StoredTrial
from trialbed_evaluation.preference._deciding import Contest, Contestant, Decision, Ground, Side

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


@dataclass(frozen=True)
class PreferenceResult:
    """The contests between two frameworks, and what came of them.

    Repeats of a query count as one observation: in the intervals, which are those of other scores, and in p.

    Attributes:
        baseline, candidate: their names.
        judge: its description in a document.
        not_measured: the contests that one side has no answer for, as it was not measured.
    """

    baseline: str
    candidate: str
    judge: Mapping[str, Any]
    decisions: Sequence[Decision]
    not_measured: int

    @cached_property
    def _counts(self) -> Counter[Side | None]:
        return Counter(decision.winner for decision in self.decisions)

    @property
    def contests(self) -> int:
        """The number of contests."""
        return len(self.decisions)

    @property
    def wins(self) -> int:
        """The contests that the candidate won."""
        return self._counts["candidate"]

    @property
    def losses(self) -> int:
        """The contests that the baseline won."""
        return self._counts["baseline"]

    @property
    def ties(self) -> int:
        """The contests that nobody won."""
        return self._counts["tie"]

    @property
    def undecided(self) -> int:
        """The contests that the judge failed to decide."""
        return self._counts[None]

    @cached_property
    def win_rate(self) -> Estimate | None:
        """The wins over the contests that were decided, ties among them; None where none was."""
        return _rate(self.decisions, "candidate")

    @cached_property
    def p(self) -> float | None:
        """That of McNemar's test where each query has one contest, else of a permutation test over queries' means."""
        return _p_value(self.decisions) if self.wins + self.losses else None

    @property
    def by(self) -> Counter[Ground]:
        """The contests by the ground of their decision."""
        return Counter(decision.by for decision in self.decisions)

    @property
    def order_consistency(self) -> float | None:
        """The share of votes that are the same in both orders; None without votes."""
        asked = sum(len(decision.votes) for decision in self.decisions)
        return sum(decision.consistent for decision in self.decisions) / asked if asked else None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        return {
            "baseline": self.baseline,
            "candidate": self.candidate,
            "judge": dict(self.judge),
            "contests": self.contests,
            "decided": self.contests - self.undecided,
            "undecided": self.undecided,
            "not_measured": self.not_measured,
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "win_rate": _rate_as_json(self.win_rate),
            "loss_rate": _rate_as_json(_rate(self.decisions, "baseline")),
            "p": self.p,
            "by": dict(self.by),
            "order_consistency": self.order_consistency,
            "results": [decision.model_dump(mode="json") for decision in self.decisions],
        }


def _by_query(decisions: Sequence[Decision]) -> dict[int | str, list[Decision]]:
    """Return the contests that were decided, by their query."""
    found: dict[int | str, list[Decision]] = {}
    for decision in decisions:
        if decision.winner is not None:
            found.setdefault(decision.query_id, []).append(decision)
    return found


def _rate(decisions: Sequence[Decision], winner: Side) -> Estimate | None:
    """Return the share of the contests that this side won."""
    won = {query: [float(each.winner == winner) for each in own] for query, own in _by_query(decisions).items()}
    if not won:
        return None
    every = [value for values in won.values() for value in values]
    return Estimate(sum(every) / len(every), bounded_mean_interval(won))


def _rate_as_json(rate: Estimate | None) -> dict[str, Any] | None:
    return None if rate is None else {name: value for name, value in rate.as_json().items() if name != "n"}


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
