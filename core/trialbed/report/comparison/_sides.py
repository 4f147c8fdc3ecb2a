"""The sides of a comparison: the trials of one framework in one run, whether they come from a document or the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import fmean
from typing import Any

from trialbed.records import HelperUse, Json, ScoreDescription
from trialbed.scoring import TIMES
from trialbed.settings import MARGIN, declared_settings

QueryId = int | str

LABELS = {
    "test_set": "dataset",
    "base_url": "endpoint",
    "max_tokens": "max_tokens",
    "repeat": "repeats",
    "evaluator_model": "judge",
    "judge_rules": "version of the judge's rules",
    "catalog_digest": "catalog",
}
"""Compared setting -> its name in words, where that is not the key in words."""

BESIDE_SETTINGS = ("judge_prompt", "judge_rules", "catalog_digest", "trialbed_version")
"""Facts that settings led to, and that are compared like them."""

JUDGE_KEYS = ("evaluator_model", "judge_model", "judge_prompt")
"""The settings that say who judged."""


@cache
def compared_settings() -> Mapping[str, Any]:
    """Return the default of each compared setting, by its key in a document's metadata.

    These are the settings of a run's identity; two sides may differ in them, as a comparison may be about that.
    The test set stands for the dataset, whose name may be a path.
    """
    declared = {key: item.default for item in declared_settings() if (key := item.document) and key != "dataset"}
    return {"test_set": None, **declared, **dict.fromkeys(BESIDE_SETTINGS)}


def setting_label(key: str) -> str:
    """Return the name of a compared setting, in words."""
    return LABELS.get(key, key.replace("_", " "))


@dataclass(frozen=True)
class HelperTotals:
    """The use that the helpers of a run made of their models, for all of its frameworks.

    Attributes:
        trials, queries: of the run that were measured; 0 where a document does not say how many.
    """

    uses: tuple[HelperUse, ...] = ()
    trials: int = 0
    queries: int = 0


@dataclass(frozen=True)
class ComparedRun:
    """The run of a side, and its framework there.

    Attributes:
        framework: its label in the run.
        status: None where a document does not say it.
        judge: the description and the calibration of its judge.
        settings: the value of each of ``compared_settings``.
        against: the framework that the run's others are compared with, if one was named.
        margin: the largest difference of a score that does not matter in the run.
        helpers: the use that its helpers made of their models.
    """

    framework: str = ""
    framework_version: str | None = None
    run_id: str | None = None
    status: str | None = None
    dataset_digest: str | None = None
    judge: Mapping[str, Json] | None = None
    settings: Mapping[str, Any] = field(default_factory=compared_settings)
    against: str | None = None
    margin: float = MARGIN
    helpers: HelperTotals = HelperTotals()

    @property
    def test_set(self) -> str:
        """The test set."""
        return str(self.settings["test_set"])

    @property
    def dataset(self) -> str:
        """The test set and the beginning of its digest."""
        return f"{self.test_set} {str(self.dataset_digest)[:12]}"

    @property
    def identity(self) -> tuple[Any, ...]:
        """The run, the framework and the judge."""
        return self.run_id, self.framework, *(self.settings[key] for key in JUDGE_KEYS)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON, under the keys of a document's metadata."""
        return {
            "agent_name": self.framework,
            "framework_version": self.framework_version,
            "run_id": self.run_id,
            "status": self.status,
            "dataset_digest": self.dataset_digest,
            **self.settings,
            "judge": self.judge,
        }


@dataclass(frozen=True)
class ComparedTrial:
    """One trial: its scores as numbers, and the kind of its failure; empty if it ended with an answer.

    Attributes:
        measured: whether the trial says something of the framework: a failure that does is 0 in scores of quality.
        tools: the names of the tools on offer; None where that is not known.
        first: whether it was the first trial of its worker.
        absent: the scores that trials of the query cannot have, so that a failed one is not 0 in them.
    """

    query_id: QueryId
    scores: Mapping[str, float]
    failure: str = ""
    measured: bool = True
    repeat: int = 0
    tools: frozenset[str] | None = None
    first: bool = False
    absent: Collection[str] = ()

    @property
    def pair(self) -> tuple[QueryId, int]:
        """The query and the repeat."""
        return self.query_id, self.repeat


@dataclass(frozen=True)
class Side:
    """The trials of one framework in one run.

    Attributes:
        source: where they come from: a file or the id of a run.
        name: what to call it.
        about: its run and settings.
        bounded: the scores that lie in [0, 1].
        quality: those of them that say how good an answer is: a trial that failed has them as 0.
        missing: how many trials the run has still to measure for it; 0 of a run that is finished.
        tasks: query -> its text and gold Apis, where they are known.
        described: the descriptions of scores that the run keeps, by name.
        first_apart: whether times leave out each worker's first trial, as they do for all frameworks of the run.
        is_claimed: whether it is a result file of MASBench: its calls are those that the agent named, and settings
            that it does not record are None.
        void: why it cannot be compared with anything; empty where it can.
    """

    source: str
    name: str
    about: ComparedRun
    trials: Sequence[ComparedTrial]
    bounded: frozenset[str]
    quality: frozenset[str]
    missing: int = 0
    tasks: Mapping[QueryId, str] = field(default_factory=dict)
    described: Mapping[str, ScoreDescription] = field(default_factory=dict)
    is_claimed: bool = False
    first_apart: bool = True
    void: str = ""

    @property
    def first_trials(self) -> int:
        """The trials with an answer that were the first of their workers."""
        return sum(1 for trial in self.trials if trial.first and not trial.failure)

    @property
    def queries(self) -> list[QueryId]:
        """The queries in order, each once."""
        return list(dict.fromkeys(trial.query_id for trial in self.trials))

    @property
    def scores(self) -> list[str]:
        """The names of all scores, bounded ones first."""
        names = dict.fromkeys(name for trial in self.trials for name in trial.scores)
        return sorted(names, key=lambda name: name not in self.bounded)

    @property
    def failures(self) -> dict[str, int]:
        """Number of failed trials, by kind."""
        return dict(Counter(trial.failure for trial in self.trials if trial.failure))

    @property
    def measured_pairs(self) -> set[tuple[QueryId, int]]:
        """The queries and repeats that were measured."""
        return {trial.pair for trial in self.trials if trial.measured}

    @property
    def tools(self) -> dict[QueryId, frozenset[str]]:
        """The tools that each query was offered, as far as they are known."""
        return {trial.query_id: trial.tools for trial in self.trials if trial.tools is not None}

    def records(self, setting: str) -> bool:
        """Return whether the value of a compared setting is known."""
        return not self.is_claimed or self.about.settings[setting] is not None

    def values(self, score: str) -> dict[QueryId, float]:
        """Return the mean of a score over the repeats of each query for which it is known.

        A trial that failed is 0 in a score of quality; in others only trials with an answer count, and in times those
        that were not the first of their workers. One that was not measured counts nowhere.
        """
        found: dict[QueryId, list[float]] = {}
        for trial, value in self._known_values(score):
            found.setdefault(trial.query_id, []).append(value)
        return {query_id: fmean(values) for query_id, values in found.items()}

    def each(self, score: str) -> dict[tuple[QueryId, int], float]:
        """Return a score of each query and repeat for which it is known, as ``values`` takes them."""
        return {trial.pair: value for trial, value in self._known_values(score)}

    def _known_values(self, score: str) -> Iterator[tuple[ComparedTrial, float]]:
        for trial in self.trials:
            if trial.failure:
                if trial.measured and score in self.quality and score not in trial.absent:
                    yield trial, 0.0
            elif score in trial.scores and not (trial.first and self.first_apart and score in TIMES):
                yield trial, trial.scores[score]

    def without(self, score: str) -> Side:
        """Return the side without a score."""
        trials = [
            replace(trial, scores={name: value for name, value in trial.scores.items() if name != score})
            for trial in self.trials
        ]
        return replace(self, trials=trials, quality=self.quality - {score})


def void_notes(sides: Iterable[Side]) -> Iterator[str]:
    """Yield a note on each side that cannot be compared."""
    for side in sides:
        if side.void:
            yield f"the row of {side.about.framework} in {side.source} is void, so that it is not compared: {side.void}"


def unique_names(sides: Sequence[Side]) -> list[Side]:
    """Return the sides with names that differ: with the run's id, else the source, where frameworks share a name."""
    for names in ([side.name for side in sides], [f"{side.name} ({side.about.run_id})" for side in sides]):
        if len(set(names)) == len(names):
            return [replace(side, name=name) for side, name in zip(sides, names, strict=True)]
    return [replace(side, name=f"{side.name} ({side.source})") for side in sides]


def are_same_trials(one: Side, other: Side) -> bool:
    """Return whether two sides are one framework in one run, under one judge, wherever they are read from."""
    return bool(one.about.run_id) and one.about.identity == other.about.identity


def shared_trials(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Return both sides; where either lacks trials, with those alone that were measured for both."""
    if not (baseline.missing or candidate.missing):
        return baseline, candidate
    shared = baseline.measured_pairs & candidate.measured_pairs
    first, second = (
        replace(side, trials=[trial for trial in side.trials if trial.pair in shared]) for side in (baseline, candidate)
    )
    return first, second


def alike_in_times(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Return both sides; where one has no times but those of first trials, these are in the times of both."""
    apart = baseline.first_apart and candidate.first_apart
    return replace(baseline, first_apart=apart), replace(candidate, first_apart=apart)


def missing_trials(status: str | None, queries: int, repeat: int, trials: Sequence[ComparedTrial]) -> int:
    """Return how many trials a run has still to measure; 0 where its status is not known."""
    if status in (None, "finished"):
        return 0
    return max(queries * repeat, len(trials)) - sum(1 for trial in trials if trial.measured)


def incomplete_note(side: Side) -> str:
    """Return a note on the missing trials of a side; empty where there are none."""
    if not side.missing:
        return ""
    measured, about = len(side.measured_pairs), side.about
    trials = f"{measured:,} of {measured + side.missing:,} trials"
    return f"run {about.run_id} is {about.status}, with {trials} of {about.framework} measured"
