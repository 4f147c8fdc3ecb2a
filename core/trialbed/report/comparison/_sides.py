"""The sides of a comparison: trials of one framework in one run, from a result document or from the store."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from trialbed.errors import DataError
from trialbed.records import NOT_MEASURED, Run, ScoreDescription
from trialbed.report._metadata import metadata
from trialbed.report._trials import ReportedTrial
from trialbed.scoring import ALWAYS
from trialbed.settings import declared_settings

if TYPE_CHECKING:
    from trialbed.store import StoredRun, StoredTrial

QueryId = int | str

RUN_NAME = re.compile(r"(latest|\d{4,8}|\d{8}T\d{0,6}|\d{8}T\d{6}-[0-9a-f]{0,6})(/.+)?", re.DOTALL)
"""A run's id, the beginning of one, or ``latest``; and one of its frameworks, where only that is meant."""

DOCUMENTS = Path("results", "tools")
"""The folder of documents that are meant by their names alone."""

CALLED = {
    "test_set": "dataset",
    "base_url": "endpoint",
    "max_tokens": "max_tokens",
    "repeat": "repeats",
    "evaluator_model": "judge",
    "judge_rules": "version of the judge's rules",
    "catalog_digest": "catalog",
}
"""Key of a document's metadata -> what it is called, where that is not the key in words."""

BESIDE_SETTINGS = ("judge_prompt", "judge_rules", "catalog_digest", "trialbed_version")
"""Keys of a document's metadata that settings led to, and that are compared like them."""


@cache
def compared_settings() -> Mapping[str, Any]:
    """Key of a document's metadata -> its default, for documents that lack it.

    The settings of a run's identity; two sides may differ in them, as that can be what is compared. The test set stands
    for the dataset, whose name may be a path.
    """
    declared = {key: item.default for item in declared_settings() if (key := item.document) and key != "dataset"}
    return {"test_set": None, **declared, **dict.fromkeys(BESIDE_SETTINGS)}


def setting_label(key: str) -> str:
    """Return the name of a compared setting, in words."""
    return CALLED.get(key, key.replace("_", " "))


@dataclass(frozen=True)
class ComparedTrial:
    """One trial: its scores as numbers, and the kind of its failure; empty if it ended with an answer.

    Attributes:
        measured: whether the trial says something of the framework: a failure that does is 0 in scores of quality.
        tools: the names of the tools on offer; None where that is not known.
    """

    query_id: QueryId
    scores: Mapping[str, float]
    failure: str = ""
    measured: bool = True
    repeat: int = 0
    tools: frozenset[str] | None = None


@dataclass(frozen=True)
class Side:
    """The trials of one framework in one run.

    Attributes:
        source: where they come from: a file or the id of a run.
        name: what to call it.
        about: ``agent_name``, ``framework_version``, ``run_id``, ``test_set``, ``dataset_digest``, ``judge`` (what
            documents say of it), ``status`` and ``compared_settings``.
        bounded: the scores that lie in [0, 1].
        quality: those of them that say how good an answer is: a trial that failed has them as 0.
        missing: how many trials the run has still to measure for it; 0 of a run that is finished.
        tasks: query -> its text and gold Apis, where they are known.
        described: the descriptions of scores that the run keeps, by name.
    """

    source: str
    name: str
    about: Mapping[str, Any]
    trials: Sequence[ComparedTrial]
    bounded: frozenset[str]
    quality: frozenset[str]
    missing: int = 0
    tasks: Mapping[QueryId, str] = field(default_factory=dict)
    described: Mapping[str, ScoreDescription] = field(default_factory=dict)

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

    def values(self, score: str) -> dict[QueryId, float]:
        """The mean of a score over the repeats of each query for which it is known.

        A trial that failed is 0 in a score of quality; in others only trials with an answer count. One that was not
        measured counts nowhere.
        """
        found: dict[QueryId, list[float]] = {}
        for trial, value in self._known_values(score):
            found.setdefault(trial.query_id, []).append(value)
        return {query_id: fmean(values) for query_id, values in found.items()}

    def each(self, score: str) -> dict[tuple[QueryId, int], float]:
        """A score of each query and repeat for which it is known, as ``values`` takes them."""
        return {(trial.query_id, trial.repeat): value for trial, value in self._known_values(score)}

    def _known_values(self, score: str) -> Iterator[tuple[ComparedTrial, float]]:
        for trial in self.trials:
            if trial.failure and trial.measured and score in self.quality:
                yield trial, 0.0
            elif not trial.failure and score in trial.scores:
                yield trial, trial.scores[score]

    @property
    def measured_pairs(self) -> set[tuple[QueryId, int]]:
        """The queries and repeats that were measured."""
        return {(trial.query_id, trial.repeat) for trial in self.trials if trial.measured}

    @property
    def tools(self) -> dict[QueryId, frozenset[str]]:
        """The tools that each query was offered, as far as they are known."""
        return {trial.query_id: trial.tools for trial in self.trials if trial.tools is not None}


def is_document(path: Path) -> bool:
    """Return whether a file is a result document, or the list of them that ``bench run --json`` prints."""
    try:
        with path.open("rb") as file:
            return file.read(1) in (b"{", b"[") and _are_documents(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return False


def is_run_name(value: str) -> bool:
    """Return whether a text has the form of a run's id, of its beginning or ``latest``, with a framework or without."""
    return RUN_NAME.fullmatch(value) is not None


def document_file(value: str) -> Path | None:
    """The file that is meant by its path, or by its name alone where documents are usually written; None for none."""
    paths = [Path(value), DOCUMENTS / f"{value}.json"] if value else []
    return next((path for path in paths if path.exists()), None)


def read_sides(value: str, store: str | None) -> list[Side]:
    """The sides of a file of result documents, or of a run in the store: one per framework.

    Raises:
        DataError: the file is not a result document, or the run is not in the store.
    """
    path = document_file(value)
    return _of_file(path) if path is not None else _of_run(value, store)


def told_apart(sides: Sequence[Side]) -> list[Side]:
    """The sides with names that differ: with the run's id, else the source, where frameworks are called the same."""
    for names in ([side.name for side in sides], [f"{side.name} ({side.about['run_id']})" for side in sides]):
        if len(set(names)) == len(names):
            return [replace(side, name=name) for side, name in zip(sides, names, strict=True)]
    return [replace(side, name=f"{side.name} ({side.source})") for side in sides]


def are_same_trials(one: Side, other: Side) -> bool:
    """Return whether two sides are one framework in one run, under one judge, wherever they are read from."""
    keys = ("run_id", "agent_name", "evaluator_model", "judge_model", "judge_prompt")
    return bool(one.about["run_id"]) and all(one.about.get(key) == other.about.get(key) for key in keys)


def shared_trials(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Both sides, with the queries and repeats alone that were measured for both where either lacks trials."""
    if not (baseline.missing or candidate.missing):
        return baseline, candidate
    shared = baseline.measured_pairs & candidate.measured_pairs
    first, second = (
        replace(side, trials=[trial for trial in side.trials if (trial.query_id, trial.repeat) in shared])
        for side in (baseline, candidate)
    )
    return first, second


def incomplete_note(side: Side) -> str:
    """Return a note on the missing trials of a side; empty where there are none."""
    if not side.missing:
        return ""
    measured, about = len(side.measured_pairs), side.about
    trials = f"{measured:,} of {measured + side.missing:,} trials"
    return f"run {about['run_id']} is {about['status']}, with {trials} of {about['agent_name']} measured"


def _are_documents(found: Any) -> bool:
    documents = _documents(found)
    return bool(documents) and all(
        isinstance(document, dict) and {"metadata", "summary", "results"} <= document.keys() for document in documents
    )


def _documents(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _of_file(path: Path) -> list[Side]:
    try:
        return [_of_document(str(path), document) for document in _documents(json.loads(path.read_bytes()))]
    except KeyError as error:
        raise DataError(f"{path}: not a result document of bench run: it lacks {error}") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a result document of bench run: {type(error).__name__}: {error}") from error


def _of_document(source: str, document: Mapping[str, Any]) -> Side:
    about = document["metadata"]
    trials = _trials(document["results"])
    bounded = frozenset(document["summary"]["intervals"])
    _check(source, document["results"], trials, bounded)
    return Side(
        source=source,
        name=about["agent_name"],
        about=_about(about),
        trials=trials,
        bounded=bounded,
        quality=frozenset(document["summary"].get("quality_scores", document["summary"]["intervals"])),
        missing=_missing(about.get("status"), about.get("num_queries"), about.get("repeat"), trials),
        tasks={entry["query_id"]: _task(entry) for entry in document["results"] if "query_text" in entry},
    )


def _about(found: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the settings and the judge of a side from the metadata of its run."""
    judge = found.get("judge") or {}
    return {
        **{key: found.get(key) for key in ("agent_name", *_ABOUT)},
        **{key: found.get(key, default) for key, default in compared_settings().items()},
        "judge": found.get("judge"),
        "judge_prompt": judge.get("prompt"),
        "judge_rules": judge.get("rules"),
    }


NEAR = 1e-9
"""By how much rounding may put a score outside its range."""

_ABOUT = ("framework_version", "run_id", "status", "dataset_digest")


def _missing(status: str | None, queries: int | None, repeat: int | None, trials: Sequence[ComparedTrial]) -> int:
    """The trials that a run has still to measure; documents of the first version do not tell its status."""
    if status in (None, "finished"):
        return 0
    measured = sum(1 for trial in trials if trial.measured)
    return max((queries or 0) * (repeat or 1), len(trials)) - measured


def _trials(entries: Sequence[Mapping[str, Any]]) -> list[ComparedTrial]:
    counts: Counter[QueryId] = Counter()
    trials = []
    for entry in entries:
        # Documents of the first version do not name the repeat; its trials are in order.
        trials.append(_trial(entry, entry.get("repeat", counts[entry["query_id"]])))
        counts[entry["query_id"]] += 1
    return trials


def _check(
    source: str, entries: Sequence[Mapping[str, Any]], trials: Sequence[ComparedTrial], bounded: Collection[str]
) -> None:
    """Check that each trial is there once, and that its scores can be compared.

    Raises:
        DataError: it is not so, as in a document that was changed by hand or written by another program.
    """
    places = Counter((trial.query_id, trial.repeat) for trial in trials)
    twice = next((place for place, count in places.items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{source}: query {twice[0]!r} has repeat {twice[1]} more than once; keep one of them")
    for entry in entries:
        for name, value in entry["scores"].items():
            is_number = isinstance(value, (int, float)) and math.isfinite(value)
            if name in bounded and value is not None and not (is_number and -NEAR <= value <= 1 + NEAR):
                raise DataError(f"{source}: query {entry['query_id']!r}: {name} is {value!r}, not a number from 0 to 1")
            if isinstance(value, float) and not is_number:
                raise DataError(f"{source}: query {entry['query_id']!r}: {name} is {value!r}, not a number")


def _trial(entry: Mapping[str, Any], repeat: int) -> ComparedTrial:
    scores = {name: float(value) for name, value in entry["scores"].items() if isinstance(value, (int, float))}
    failure = entry["error"]["kind"] if "error" in entry else ""
    measured = entry["status"] != "not measured" if "status" in entry else failure not in NOT_MEASURED
    return ComparedTrial(
        entry["query_id"], scores, failure, measured, repeat, _offered_tools(entry.get("selected_tools"))
    )


def _task(entry: Mapping[str, Any]) -> str:
    return json.dumps([entry["query_text"], entry.get("gold_apis")])


def _offered_tools(names: Sequence[str] | None) -> frozenset[str] | None:
    return frozenset(names) if names else None


def _of_run(value: str, store: str | None) -> list[Side]:
    """The sides of a run in the store: all of its frameworks, or the one that is named after a slash."""
    from trialbed.store import open_store, require_frameworks

    name, _, framework = value.partition("/")
    with open_store(store) as reader:
        run = require_frameworks(reader.run(name))
        labels = (run.framework(framework),) if framework else run.config.frameworks
        return list(_sides_of(run, labels))


def _sides_of(run: StoredRun, labels: Sequence[str]) -> Iterator[Side]:
    every = {framework: run.trials(framework=framework) for framework in labels}
    scores = [score for trials in every.values() for trial in trials for score in trial.scores]
    quality = frozenset(score.name for score in scores if score.bounded and score.quality).union(ALWAYS)
    bounded = quality | {score.name for score in scores if score.bounded}
    for framework, trials in every.items():
        yield run_side(run.record, framework, trials, bounded=bounded, quality=quality)


def run_side(
    run: Run,
    framework: str,
    trials: Sequence[ReportedTrial | StoredTrial],
    *,
    bounded: frozenset[str],
    quality: frozenset[str],
) -> Side:
    """The side of a framework in a run, by its trials that count."""
    own = [_trial_of(trial, quality) for trial in trials]
    return Side(
        source=run.run_id,
        name=framework,
        about=_about(metadata(run, framework)),
        trials=own,
        bounded=bounded,
        quality=quality,
        missing=_missing(run.status, len(run.config.query_ids), run.config.repeat, own),
        described=run.scores,
    )


def _trial_of(trial: ReportedTrial | StoredTrial, quality: Collection[str]) -> ComparedTrial:
    given = {score.name: score.value for score in trial.scores if score.value is not None}
    return ComparedTrial(
        trial.key.query_id,
        dict.fromkeys(quality, 0.0) if trial.status == "failed" else given,
        trial.failure.kind if trial.failure else "",
        trial.status != "not measured",
        trial.key.repeat,
        _offered_tools(trial.selected_tools),
    )
