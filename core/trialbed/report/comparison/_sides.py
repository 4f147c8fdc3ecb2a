"""The sides of a comparison: the trials of one framework in one run, whether they come from a document or the store."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

from trialbed.records import HelperUse, Json, ScoreDescription
from trialbed.report._faults import fault_words
from trialbed.report.comparison._trial_table import ComparedTrial, QueryId, TrialTable
from trialbed.scoring import ALWAYS, TIMES
from trialbed.settings import MARGIN, declared_settings
from trialbed.texts import number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
class Side:
    """The trials of one framework in one run.

    Attributes:
        source: where they come from: a file or the id of a run.
        name: what to call it.
        about: its run and settings.
        bounded: the scores that lie in [0, 1].
        quality: those of them that say how good an answer is: a trial that failed has them as 0.
        missing: how many trials the run has still to measure for it; 0 of a run that is finished.
        tasks: query -> its text and expected Apis, where they are known.
        described: the descriptions of scores that the run keeps, by name.
        first_apart: whether times leave out each worker's first trial, as they do for all frameworks of the run.
        is_claimed: whether it is a result file of MASBench: its calls are those that the agent named, and settings
            that it does not record are None.
        void: why it cannot be compared with anything; empty where it can.
    """

    source: str
    name: str
    about: ComparedRun
    trials: Sequence[ComparedTrial] | TrialTable
    bounded: frozenset[str]
    quality: frozenset[str]
    missing: int = 0
    tasks: Mapping[QueryId, str] = field(default_factory=dict)
    described: Mapping[str, ScoreDescription] = field(default_factory=dict)
    is_claimed: bool = False
    first_apart: bool = True
    void: str = ""

    @cached_property
    def table(self) -> TrialTable:
        """The trials in columns."""
        return self.trials if isinstance(self.trials, TrialTable) else TrialTable.of(self.trials)

    @property
    def first_trials(self) -> int:
        """The trials without failure that were the first of their workers."""
        return int((self.table.first & ~self.table.has_failed).sum())

    @property
    def queries(self) -> Sequence[QueryId]:
        """The queries in order, each once."""
        return self.table.query.values

    @property
    def scores(self) -> list[str]:
        """The names of all scores, bounded ones first, each of the two in the order in which trials have them."""
        zeros = _in_order(self.quality) if (self.table.has_failed & self.table.measured).any() else ()
        columns = ((name, self._counted(name)) for name in dict.fromkeys([*self.table.scores, *zeros]))
        known = ((name, column == column) for name, column in columns)  # nan is unlike itself
        first = {name: int(are_known.argmax()) for name, are_known in known if are_known.any()}
        return sorted(first, key=lambda name: (name not in self.bounded, first[name]))

    @property
    def failures(self) -> dict[str, int]:
        """Number of failed trials, by kind."""
        return self.table.failures

    @property
    def measured_failures(self) -> dict[str, int]:
        """Number of trials that were measured and failed, by kind."""
        table = self.table
        return dict(Counter(filter(None, compress(table.failed, table.measured.tolist()))))

    @property
    def measured_pairs(self) -> set[tuple[QueryId, int]]:
        """The queries and repeats that were measured."""
        return set(compress(self.table.pairs, self.table.measured.tolist()))

    def records(self, setting: str) -> bool:
        """Return whether the value of a compared setting is known."""
        return not self.is_claimed or self.about.settings[setting] is not None

    def column(self, score: str) -> NDArray[Any]:
        """Return a score of each trial; nan where it is not known, or does not count.

        A trial that failed is 0 in a score of quality; in others only trials without failure count, and in times those
        that were not the first of their workers. One that was not measured counts nowhere.
        """
        table = self.table
        found = self._counted(score)
        if score in TIMES and self.first_apart:
            found[table.first & ~table.has_failed] = math.nan
        return found

    def _counted(self, score: str) -> NDArray[Any]:
        """A score of each trial in which it counts, times of first trials included."""
        import numpy as np

        table, failed = self.table, self.table.has_failed
        found = np.full(len(table), np.nan) if score not in table.scores else table.scores[score].copy()
        found[failed] = np.nan
        if score in self.quality:
            found[failed & table.measured & ~table.absent.get(score, np.zeros(len(table), dtype=bool))] = 0.0
        return found

    def means(self, score: str) -> NDArray[Any]:
        """Return the mean of a score over the repeats of each of ``queries``; nan where it is not known."""
        return self.table.means(self.column(score))

    def values(self, score: str) -> dict[QueryId, float]:
        """Return the mean of a score over the repeats of each query for which it is known."""
        means = zip(self.queries, self.means(score).tolist(), strict=True)
        return {query: mean for query, mean in means if not math.isnan(mean)}

    def trial_values(self, score: str) -> NDArray[Any]:
        """Return the values of a score in the trials in which it counts."""
        column = self.column(score)
        found: NDArray[Any] = column[column == column]
        return found

    def each(self, score: str) -> dict[tuple[QueryId, int], float]:
        """Return a score of each query and repeat for which it is known."""
        values = zip(self.table.pairs, self.column(score).tolist(), strict=True)
        return {pair: value for pair, value in values if not math.isnan(value)}

    def without(self, score: str) -> Side:
        """Return the side without a score."""
        return replace(self, trials=self.table.without(score), quality=self.quality - {score})


def _in_order(quality: Collection[str]) -> list[str]:
    """Return scores of quality in the order in which a trial that failed has them: sets have none."""
    return sorted(quality, key=lambda name: (ALWAYS.index(name) if name in ALWAYS else len(ALWAYS), name))


def void_notes(sides: Iterable[Side]) -> Iterator[str]:
    """Yield a note on each side that cannot be compared."""
    for side in sides:
        if side.void:
            yield f"the row of {side.about.framework} in {side.source} is void, so that it is not compared: {side.void}"


MOST_SETTINGS, LONGEST_SETTING = 3, 40
"""Settings that a name says at most, and the characters of each."""

DIGESTS = ("judge_prompt", "catalog_digest")
"""Settings whose values no reader knows."""


def setting_value(key: str, value: Any) -> str:
    """Return the value of a compared setting as notes have it: a plan of faults in words, any other as JSON."""
    if value is None:
        return "none"
    return fault_words(value) if key == "faults" else json.dumps(value)


def unlike_settings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the compared settings in which runs differ.

    The name under which frameworks ask for the model is none of them where it is each model's own.
    """
    is_own = all(run.settings["model_name"] == run.settings["model"] for run in runs)
    values = {key: {json.dumps(run.settings[key]) for run in runs} for key in runs[0].settings}
    return [key for key, found in values.items() if len(found) > 1 and not (is_own and key == "model_name")]


def unique_names(sides: Sequence[Side]) -> list[Side]:
    """Return the sides with names that differ.

    Where frameworks share a name, with the settings in which they differ; else with the run's id, else the source.
    """
    by_run = [f"{side.name} ({side.about.run_id})" for side in sides]
    for names in ([side.name for side in sides], _names_by_settings(sides), by_run):
        if len(set(names)) == len(names):
            return [replace(side, name=name) for side, name in zip(sides, names, strict=True)]
    return [replace(side, name=f"{side.name} ({side.source})") for side in sides]


def _names_by_settings(sides: Sequence[Side]) -> list[str]:
    """Return the names, with the few settings in which sides of one name differ behind it."""
    alike = {side.name: [one.about for one in sides if one.name == side.name] for side in sides}
    return [_name_by_settings(side, alike[side.name]) for side in sides]


def _name_by_settings(side: Side, alike: Sequence[ComparedRun]) -> str:
    texts = [_setting_text(key, side.about.settings[key]) for key in unlike_settings(alike) if key not in DIGESTS]
    is_short = len(texts) <= MOST_SETTINGS and all(len(text) <= LONGEST_SETTING for text in texts)
    return f"{side.name} ({', '.join(texts)})" if texts and is_short else side.name


def _setting_text(key: str, value: Any) -> str:
    if value is None:
        return f"no {setting_label(key)}"
    if key == "faults":
        return "injected faults"
    return str(value) if key == "model" else f"{setting_label(key)} {value}"


def are_same_trials(one: Side, other: Side) -> bool:
    """Return whether two sides are one framework in one run, under one judge, wherever they are read from."""
    return bool(one.about.run_id) and one.about.identity == other.about.identity


def shared_trials(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Return both sides; where either lacks trials, with those alone that were measured for both."""
    import numpy as np

    if not (baseline.missing or candidate.missing):
        return baseline, candidate
    shared = baseline.measured_pairs & candidate.measured_pairs
    first, second = (
        replace(side, trials=side.table.take(np.array([pair in shared for pair in side.table.pairs], dtype=bool)))
        for side in (baseline, candidate)
    )
    return first, second


def alike_in_times(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Return both sides; where one has no times but those of first trials, these are in the times of both."""
    apart = baseline.first_apart and candidate.first_apart
    first, second = (
        side if side.first_apart == apart else replace(side, trials=side.table, first_apart=apart)
        for side in (baseline, candidate)
    )
    return first, second


def missing_trials(status: str | None, due: int, trials: int, measured: int) -> int:
    """Return how many trials a run has still to measure; 0 where its status is not known.

    Args:
        due: queries times repeats.
        trials: that there are, of which some were measured.
    """
    return 0 if status in (None, "finished") else max(due, trials) - measured


def incomplete_note(side: Side) -> str:
    """Return a note on the missing trials of a side; empty where there are none."""
    if not side.missing:
        return ""
    measured, about = len(side.measured_pairs), side.about
    trials = f"{measured:,} of {number_of(measured + side.missing, 'trial')}"
    return f"run {about.run_id} is {about.status}, with {trials} of {about.framework} measured"
