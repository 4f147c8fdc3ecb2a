"""The contests between the frameworks of stored runs, and what came of them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from statistics import fmean
from typing import Any

from trialbed.contracts import AnswerStatus, Candidate
from trialbed.errors import UsageError
from trialbed.records import Query, QueryIds, TrialResult, TrialStatus
from trialbed.scoring import JUDGED, judge_label
from trialbed.statistics import Estimate, bounded_mean_interval, paired_test
from trialbed.store import StoredRun, all_have, column_table, results_at
from trialbed_evaluation.preference._deciding import Contest, Contestant, Decision, Ground, Side

Queries = Mapping[int | str, Query]
Framework = tuple[StoredRun, str]
"""A framework of a stored run."""

NOWHERE = -1
"""In the place of the row of a trial that was not measured."""


class Contests:
    """The contests over the queries and repeats that were measured for both; answers are read when their turn comes.

    Args:
        queries: those of the baseline.
        common: the ids of those that both have.
        label: of the judge. Its own verdicts on both are used where the store has them, else those of the runs' judge.

    Attributes:
        unmeasured: the queries and repeats that were not measured for both.

    Raises:
        UsageError: the runs have different judges, and this judge has not judged both.
    """

    def __init__(
        self, baseline: Framework, candidate: Framework, queries: Queries, common: QueryIds, label: str
    ) -> None:
        self._sides = (baseline, candidate)
        self._queries = queries
        self._name = _score_name(baseline[0], candidate[0], label)
        repeats = min(run.config.repeat for run, _ in self._sides)
        found = [_rows(run, framework, common, repeats) for run, framework in self._sides]
        both = [NOWHERE not in pair for pair in zip(*found, strict=True)]
        self._rows = [array("q", compress(rows, both)) for rows in found]
        self.unmeasured = len(both) - len(self._rows[0])

    def __iter__(self) -> Iterator[Contest]:
        """Give each contest, in the order of queries and repeats."""
        sides = (results_at(run, rows) for (run, _), rows in zip(self._sides, self._rows, strict=True))
        for baseline, candidate in zip(*sides, strict=True):
            query_id, repeat = baseline.pair
            yield Contest(
                query=self._queries[query_id],
                repeat=repeat,
                baseline=_contestant(baseline, self._name),
                candidate=_contestant(candidate, self._name),
            )


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
    answered = array("q", (row for row, *_, status in _each_row(run) if status == "answered"))
    return bool(answered) and all_have(run, name, answered)


def _rows(run: StoredRun, framework: str, queries: QueryIds, repeats: int) -> array[int]:
    """Return the row of each query and repeat of a framework, in their order, where it was measured."""
    places, found = queries.places, array("q", [NOWHERE]) * (len(queries) * repeats)
    for row, label, query_id, repeat, status in _each_row(run):
        if label == framework and status != "not measured" and repeat < repeats and query_id in places:
            found[places[query_id] * repeats + repeat] = row
    return found


def _each_row(run: StoredRun) -> Iterator[tuple[int, str, int | str, int, TrialStatus]]:
    """Yield the row, framework, query, repeat and end of each trial that counts."""
    table = column_table(run, ())
    numbers = (table.row, table.framework.places, table.query.places, table.repeat, table.status.places)
    for row, framework, query, repeat, status in zip(*numbers, strict=True):
        yield row, table.framework.values[framework], table.query.values[query], repeat, table.status.values[status]


def _contestant(trial: TrialResult, name: str) -> Contestant:
    answer = trial.outcome.answer
    if trial.status != "answered" or answer is None or not answer.final_answer.strip():
        return Contestant(answer=None)
    score = trial.score(name)
    status: AnswerStatus | None = score.label if score and score.value is not None else None  # type: ignore[assignment] # a verdict's label is its status
    return Contestant(answer=Candidate(answer=answer, wire=trial.wire), status=status)
