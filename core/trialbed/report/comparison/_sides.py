"""The sides of a comparison: the trials of one framework in one run, from a document or the store."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from trialbed.records import Json, Run, ScoreDescription
from trialbed.report._metadata import fault_words, metadata
from trialbed.scoring import ALWAYS, TIMES
from trialbed.settings import MARGIN, declared_settings
from trialbed.store import TrialTable
from trialbed.texts import number_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

QueryId = int | str

LABELS = {
    "test_set": "dataset",
    "base_url": "endpoint",
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
class ComparedRun:
    """The run of a side, and its framework there.

    Attributes:
        framework: its label in the run.
        status: None where a document does not say it.
        judge: the description and the calibration of its judge.
        settings: the value of each of ``compared_settings``.
        against: the framework that the run's others are compared with, if one was named.
        margin: the largest difference of a score that does not matter in the run.
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

    @property
    def test_set(self) -> str:
        """The test set."""
        return str(self.settings["test_set"])

    @property
    def dataset(self) -> str:
        """The test set and the beginning of its digest."""
        return f"{self.test_set} {str(self.dataset_digest)[:12]}"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON, under the keys of a document's metadata."""
        parts = ("framework_version", "run_id", "status", "dataset_digest")
        found = {"agent_name": self.framework, **{name: getattr(self, name) for name in parts}}
        return {**found, **self.settings, "judge": self.judge}


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
    trials: TrialTable
    bounded: frozenset[str]
    quality: frozenset[str]
    missing: int = 0
    tasks: Mapping[QueryId, str] = field(default_factory=dict)
    described: Mapping[str, ScoreDescription] = field(default_factory=dict)
    is_claimed: bool = False
    first_apart: bool = True
    void: str = ""
    _means: dict[str, NDArray[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def first_trials(self) -> int:
        """The trials without failure that were the first of their workers."""
        return int((self.trials.answered & (self.trials["first"] > 0)).sum())

    @cached_property
    def queries(self) -> NDArray[Any]:
        """The places of its queries among those of its table, each once."""
        import numpy as np

        return np.unique(self.trials["query"])

    @cached_property
    def order(self) -> NDArray[Any]:
        """The place of each query of its table among them if they are sorted: the same wherever they are read from."""
        import numpy as np

        return np.argsort(np.argsort([repr(query) for query in self.trials.queries], kind="stable"))

    @cached_property
    def scores(self) -> list[str]:
        """The names of all scores, bounded ones first, each of the two in the order in which trials have them."""
        import numpy as np

        own = self.trials
        # In the order in which a trial that failed has scores of quality: sets have none.
        places = {name: place for place, name in enumerate(ALWAYS)}
        quality = sorted(self.quality, key=lambda name: (places.get(name, len(ALWAYS)), name))
        zeros = quality if own.failed.any() else ()
        names = dict.fromkeys([*own.names(own.answered), *zeros])
        known = ((name, np.isfinite(own.values(name, zeros=name in self.quality))) for name in names)
        first = {name: int(has.argmax()) for name, has in known if has.any()}
        return sorted(first, key=lambda name: (name not in self.bounded, first[name]))

    @property
    def failures(self) -> dict[str, int]:
        """Number of failed trials, by kind."""
        return dict(Counter(filter(None, self.trials["failure"].tolist())))

    @property
    def measured_failures(self) -> dict[str, int]:
        """Number of trials that were measured and failed, by kind."""
        return dict(Counter(self.trials["failure"][self.trials.failed].tolist()))

    def records(self, setting: str) -> bool:
        """Return whether the value of a compared setting is known."""
        return not self.is_claimed or self.about.settings[setting] is not None

    def column(self, score: str) -> NDArray[Any]:
        """Return a score of each trial; NaN if it is not known, or does not count.

        A trial that failed is 0 in a score of quality; in others only trials without failure count, and in times those
        that were not the first of their workers. One that was not measured counts nowhere.
        """
        found = self.trials.values(score, zeros=score in self.quality)
        if score in TIMES and self.first_apart:
            found[self.trials.answered & (self.trials["first"] > 0)] = math.nan
        return found

    def means(self, score: str) -> NDArray[Any]:
        """Return the mean of a score over the repeats of each query of its table; NaN if it is not known."""
        if score not in self._means:
            self._means[score] = self.trials.means(self.column(score))
        return self._means[score]

    def each(self, score: str) -> dict[tuple[QueryId, int], float]:
        """Return a score of each query and repeat for which it is known."""
        values = zip(self.trials, self.column(score).tolist(), strict=True)
        return {(row.query_id, row.repeat): value for row, value in values if not math.isnan(value)}

    def without(self, score: str) -> Side:
        """Return the side without a score."""
        left = {name: column for name, column in self.trials.scores.items() if name != score}
        given = {name: column for name, column in self.trials.given.items() if name != score}
        return replace(self, trials=replace(self.trials, scores=left, given=given), quality=self.quality - {score})


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
    by_settings = []
    for side in sides:
        alike = [one.about for one in sides if one.name == side.name]
        differing = (key for key in unlike_settings(alike) if key not in DIGESTS)
        texts = [_setting_text(key, side.about.settings[key]) for key in differing]
        is_short = len(texts) <= MOST_SETTINGS and all(len(text) <= LONGEST_SETTING for text in texts)
        by_settings.append(f"{side.name} ({', '.join(texts)})" if texts and is_short else side.name)
    for names in ([side.name for side in sides], by_settings, by_run):
        if len(set(names)) == len(names):
            return [replace(side, name=name) for side, name in zip(sides, names, strict=True)]
    return [replace(side, name=f"{side.name} ({side.source})") for side in sides]


def _setting_text(key: str, value: Any) -> str:
    if value is None:
        return f"no {setting_label(key)}"
    if key == "faults":
        return "injected faults"
    return str(value) if key == "model" else f"{setting_label(key)} {value}"


def are_same_trials(one: Side, other: Side) -> bool:
    """Return whether two sides are one framework in one run, under one judge, wherever they are read from."""
    ours, theirs = (
        (side.about.run_id, side.about.framework, *(side.about.settings[key] for key in JUDGE_KEYS))
        for side in (one, other)
    )
    return bool(one.about.run_id) and ours == theirs


def places_in(side: Side, other: Side) -> NDArray[Any]:
    """Return the place of each query of the other side's table in the table of a side; -1 if it is not there."""
    import numpy as np

    ours, theirs = side.trials.queries, other.trials.queries
    if ours is theirs or ours == theirs:
        return np.arange(len(theirs))
    known = {query: place for place, query in enumerate(ours)}
    return np.fromiter((known.get(query, -1) for query in theirs), np.int64, len(theirs))


def shared_trials(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Return both sides; if either lacks trials, with only those that were measured for both."""
    import numpy as np

    if not (baseline.missing or candidate.missing):
        return baseline, candidate
    ours, theirs = baseline.trials, candidate.trials
    place = places_in(baseline, candidate)[theirs["query"]]
    pairs = np.where(place < 0, -1, (place << 32) + theirs["repeat"])
    shared = np.intersect1d(ours.pairs[ours.measured], pairs[theirs.measured])
    first = replace(baseline, trials=ours.take(np.isin(ours.pairs, shared)))
    return first, replace(candidate, trials=theirs.take(np.isin(pairs, shared)))


def compared_run(about: Mapping[str, Any], *, is_claimed: bool = False, **more: Any) -> ComparedRun:
    """Return the run that a document's metadata describes.

    Args:
        is_claimed: whether settings that it does not have are not known, in place of their defaults.
        **more: other fields of the run.
    """
    judge, defaults = about.get("judge") or {}, compared_settings()
    settings = {key: about.get(key, None if is_claimed else default) for key, default in defaults.items()}
    same = ("framework_version", "run_id", "status", "dataset_digest", "judge")
    more |= {name: about.get(name) for name in same}
    return ComparedRun(
        framework=about["agent_name"],
        settings={**settings, "judge_prompt": judge.get("prompt"), "judge_rules": judge.get("rules")},
        **more,
    )


def missing_trials(about: Mapping[str, Any], trials: TrialTable) -> int:
    """Return how many trials a run has still to measure, by its metadata; 0 if its status is not known."""
    due = (about.get("num_queries") or 0) * (about.get("repeat") or 1)
    return 0 if about.get("status") in (None, "finished") else max(due, len(trials)) - int(trials.measured.sum())


def incomplete_note(side: Side) -> str:
    """Return a note on the missing trials of a side; empty where there are none."""
    if not side.missing:
        return ""
    measured, about = int(side.trials.measured.sum()), side.about
    trials = f"{measured:,} of {number_of(measured + side.missing, 'trial')}"
    return f"run {about.run_id} is {about.status}, with {trials} of {about.framework} measured"


RUN_NAME = re.compile(r"(latest|\d{4,8}|\d{8}T\d{0,6}|\d{8}T\d{6}-[0-9a-f]{0,6})(/.+)?", re.DOTALL)
"""A run's id, the beginning of one, or ``latest``; and one of its frameworks, where only that is meant."""


def is_run_name(value: str) -> bool:
    """Return whether a text has the form of a run's id, of its beginning or ``latest``, with a framework or without."""
    return RUN_NAME.fullmatch(value) is not None


def run_side(
    run: Run, framework: str, own: TrialTable, quality: frozenset[str], *, void: str = "", first_apart: bool = True
) -> Side:
    """Return the side of a framework in a run.

    Args:
        own: its trials that count.
        quality: the scores of quality of any framework of the run.
        void: why it cannot be compared.
        first_apart: whether times leave out each worker's first trial.
    """
    about = metadata(run, framework)
    return Side(
        source=run.run_id,
        name=framework,
        about=compared_run(about, against=run.against, margin=run.margin),
        trials=own,
        bounded=quality.union(name for name, kind in own.kinds.items() if kind.bounded),
        quality=quality,
        missing=missing_trials(about, own),
        described=run.scores,
        first_apart=first_apart,
        void=void,
    )
