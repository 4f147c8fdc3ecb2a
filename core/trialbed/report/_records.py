"""The records of a report, of which tables, documents, pages and exit codes are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trialbed.attribution import Attribution as Attribution
from trialbed.attribution import FirstLoss as FirstLoss
from trialbed.integrity import Integrity as Integrity
from trialbed.integrity import IntegrityTally as IntegrityTally
from trialbed.records import AttributedCall as AttributedCall
from trialbed.records import FrameworkInfo, Run, ScoreDescription, framework_profile
from trialbed.store import ScoreKind as ScoreKind
from trialbed.store import TrialRow as TrialRow
from trialbed.store import TrialTable as TrialTable

if TYPE_CHECKING:
    from trialbed.report.comparison import FrameworkComparison, Side

QueryId = int | str


@dataclass(frozen=True, slots=True)
class ScoreMean:
    """The mean of a score over trials.

    Attributes:
        value: None where no trial has a value.
        interval: of scores that lie in [0, 1]; clustered by query.
        denominator: how many trials have a value.
    """

    value: float | None
    interval: tuple[float, float] | None
    denominator: int


@dataclass(frozen=True, slots=True)
class ScoreSummary(ScoreMean):
    """One score over the trials of a framework that were measured.

    Attributes:
        median, quartiles: of scores that are not bounded.
        quality: whether it says how good an answer is: a trial that failed counts as 0.
        untold: trials without failure for which it could not be determined.
        description: as its scorer declares it, where that is installed.
    """

    name: str
    bounded: bool
    quality: bool
    median: float | None = None
    quartiles: tuple[float, float] | None = None
    untold: int = 0
    description: ScoreDescription | None = None

    @property
    def unit(self) -> str:
        """The unit of its values, such as ``s``; empty for none."""
        return self.description.unit if self.description else ""

    @property
    def meaning(self) -> str:
        """Its meaning in a line; empty where that is not known."""
        return self.description.meaning if self.description else ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The scores over a part of the trials, and how many these are."""

    trials: int
    scores: Mapping[str, ScoreSummary]


@dataclass(frozen=True, slots=True)
class Counts:
    """The ends of the trials of a framework.

    Attributes:
        trials: those that were attempted; ``not_measured`` has those that were never begun too.
        judged: those with a verdict, failed ones included; ``solved``, ``unsure`` and ``unsolved`` add up to it.
        finished: those whose agent ended by itself, of ``finish_known``.
        failures: kind -> trials that ended in such an error, those that were not measured included.
    """

    queries: int
    trials: int
    answered: int
    failed: int
    not_measured: int
    solved: int
    unsure: int
    unsolved: int
    finished: int
    finish_known: int
    failures: Mapping[str, int]

    @property
    def planned(self) -> int:
        """All trials of the run's plan."""
        return self.answered + self.failed + self.not_measured

    @property
    def judged(self) -> int:
        """The trials with a verdict, and those that failed."""
        return self.solved + self.unsure + self.unsolved


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why trials have no answer, or scores no value, in the words of the first of them.

    Attributes:
        status: how these trials ended.
        count: how many there are.
        alike: those of them that have this message.
        message: one line, cut where it is long.
        entry: the place of the first among the trials of its framework.
        score: the one that could not be determined; empty for the end of a trial.
    """

    kind: str
    status: str
    count: int
    message: str
    query_id: QueryId
    repeat: int
    entry: int
    score: str = ""
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens and model requests over all trials and attempts, those that do not count too.

    Attributes:
        unreported: answers of the model without a report of their tokens.
        recorded_requests: those that got a recorded answer, and ``recorded``, the tokens of these answers.
        cost: of the tokens that were reported, in US dollars; None where the model's prices are not known.
    """

    prompt: int
    completion: int
    requests: int
    unreported: int
    recorded_requests: int = 0
    recorded: int = 0
    cost: float | None = None

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Times:
    """Mean times, in seconds.

    Attributes:
        gold: of making the expected calls, where the run did, over ``gold_trials``.
        answer: over ``timed`` trials without failure.
        first: score -> mean over each worker's first trial, of which there are ``first_trials``.
        first_apart: whether these are left out of the other means and medians of times.
    """

    gold: float | None
    gold_trials: int
    answer: float | None
    timed: int
    evaluation: float | None
    first_trials: int
    first_apart: bool
    first: Mapping[str, float | None]


@dataclass(frozen=True)
class Summary:
    """One framework of a run.

    Attributes:
        info: the framework as the workers found it; None where none has begun.
        scores: over the trials that were measured, failed ones as 0 in scores of quality.
        over_answered: the means over the trials without failure alone.
        common: the scores over the queries and repeats that were measured for every framework, if some were not.
        failures: why trials failed or were not measured, the most frequent first; ``untold``: why scores have no value.
        claims: those of agents over the trials without failure, beside what was observed, as documents have them.
        wire: facts of the wire over all trials, those that failed too, as documents have them; ``waited``: the
            seconds for which requests to the model waited for the endpoint, or were repeated.
        success: over the repeats of queries, ``any`` (pass@k) and ``each`` (pass^k) -> k -> the mean over the queries
            with k trials.
        repeated: trials that were measured several times; ``replaced``: those of them of which a later attempt counts.
        attribution: what became of the expected calls.
        integrity: the facts of the wire that bear on whether the row can be compared with others.
        ranks: score -> the best and the worst rank that the comparisons leave open; None in an incomplete run.
        extra: figures of plugins.
        trials: those that count, in the order of the run's queries.
    """

    run: Run
    framework: str
    info: FrameworkInfo | None
    counts: Counts
    scores: Mapping[str, ScoreSummary]
    over_answered: Figures
    common: Figures | None
    failures: tuple[Reason, ...]
    untold: tuple[Reason, ...]
    tokens: Tokens
    claims: Mapping[str, Any]
    wire: Mapping[str, Any]
    times: Times
    success: Mapping[str, Mapping[int, ScoreMean]]
    repeated: Mapping[str, int]
    attribution: Attribution
    trials: TrialTable = field(repr=False, compare=False)
    integrity: Integrity = field(default_factory=Integrity)
    comparisons: tuple[FrameworkComparison, ...] = ()
    ranks: Mapping[str, tuple[int, int]] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def incomplete(self) -> bool:
        """True where the run has ended without all of its trials measured."""
        return self.run.status == "incomplete"

    @cached_property
    def side(self) -> Side:
        """The framework as comparisons of runs take it."""
        from trialbed.report.comparison import run_side

        quality = frozenset(name for name, score in self.scores.items() if score.quality)
        are_apart = self.times.first_apart or not self.times.first_trials
        void = self.integrity.void
        return run_side(self.run, self.framework, self.trials, quality, void=void, first_apart=are_apart)

    @property
    def cost_per_solved(self) -> float | None:
        """The cost of all its trials for each that is solved, in US dollars; None without a price or a solved trial."""
        cost, solved = self.tokens.cost, self.counts.solved
        return cost / solved if cost is not None and solved else None

    @property
    def profile(self) -> str | None:
        """``native`` or ``controlled``; None for anything but an adapter."""
        return framework_profile(self.framework) if self.framework in self.run.config.adapter_versions else None


@dataclass(frozen=True)
class WorstQuery:
    """A query on which something went wrong.

    Attributes:
        text: the task; empty where it is not known.
        trials: framework -> its trials, as far as they have ended.
        worst: the trial that went worst.
    """

    query_id: QueryId
    text: str
    trials: Mapping[str, Sequence[TrialRow]]
    worst: TrialRow
