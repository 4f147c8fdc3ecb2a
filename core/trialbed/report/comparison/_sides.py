"""Read the sides of a comparison from the store or a result document; a side is one framework's trials in one run."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed.integrity import framework_integrity
from trialbed.records import Run, ScoreDescription
from trialbed.report._metadata import fault_words, legacy_metadata
from trialbed.scoring import ALWAYS, OF_SOME, TIMES
from trialbed.settings import MARGIN, declared_settings
from trialbed.store import TrialTable, open_store, require_frameworks
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
"""Compared setting -> its name in words, if that differs from the key in words."""

BESIDE_SETTINGS = ("judge_prompt", "judge_rules", "catalog_digest", "trialbed_version")
"""Facts that settings led to, and that are compared like them."""

JUDGE_KEYS = ("evaluator_model", "judge_model", "judge_prompt")
"""The settings that say who judged."""

NEAR = 1e-9
"""By how much rounding may put a score outside its range."""


@cache
def compared_settings() -> Mapping[str, Any]:
    """Return the default of each compared setting, by its key in a document's metadata.

    These are the settings of a run's identity; two sides may differ in them, as a comparison may be about that.
    The test set stands for the dataset, because the dataset's name may be a path.
    """
    declared = {key: item.usual for item in declared_settings() if (key := item.document) and key != "dataset"}
    return {"test_set": None, **declared, **dict.fromkeys(BESIDE_SETTINGS)}


def setting_label(key: str) -> str:
    """Return the name of a compared setting, in words."""
    return LABELS.get(key, key.replace("_", " "))


@dataclass(frozen=True)
class Side:
    """The trials of one framework in one run.

    Attributes:
        source: the file or the id of the run that they come from.
        name: what to call it.
        about: the compared or shown part of the document's metadata, including ``compared_settings``.
        bounded: the scores that lie in [0, 1].
        quality: the bounded scores that say how good an answer is: a trial that failed has them as 0.
        missing: how many trials the run has still to measure for it; 0 if it is finished, or does not say.
        described: the descriptions of scores that the run keeps, by name.
        first_apart: whether times leave out each worker's first trial, in all frameworks of the run.
        void: why it cannot be compared with anything; empty if it can.
        against: the framework that the run's others are compared with, if one was named.
        margin: the largest difference of a score that does not matter in the run.
    """

    source: str
    name: str
    about: Mapping[str, Any]
    trials: TrialTable
    bounded: frozenset[str]
    quality: frozenset[str]
    missing: int = 0
    described: Mapping[str, ScoreDescription] = field(default_factory=dict)
    first_apart: bool = True
    void: str = ""
    against: str | None = None
    margin: float = MARGIN
    _means: dict[str, NDArray[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def queries(self) -> NDArray[Any]:
        """Return the places of its queries among its table's queries, each once."""
        import numpy as np

        return np.unique(self.trials["query"])

    @cached_property
    def order(self) -> NDArray[Any]:
        """Return the place of its table's queries in sorted order, which is the same in every source."""
        import numpy as np

        return np.argsort(np.argsort([repr(query) for query in self.trials.queries], kind="stable"))

    @cached_property
    def scores(self) -> list[str]:
        """Return the names of all scores, bounded ones first, otherwise in the order of the trials' scores."""
        import numpy as np

        own = self.trials
        # In the order of a failed trial's scores of quality, because sets have no order.
        places = {name: place for place, name in enumerate(ALWAYS)}
        quality = sorted(self.quality, key=lambda name: (places.get(name, len(ALWAYS)), name))
        names = dict.fromkeys([*own.names(own.answered), *(quality if own.failed.any() else ())])
        known = [name for name in names if np.isfinite(own.values(name, zeros=name in self.quality)).any()]
        return sorted(known, key=lambda name: name not in self.bounded)

    @property
    def failures(self) -> dict[str, int]:
        """Number of failed trials, by kind."""
        return dict(Counter(filter(None, self.trials["failure"].tolist())))

    @property
    def measured_failures(self) -> dict[str, int]:
        """Number of trials that were measured and failed, by kind."""
        return dict(Counter(self.trials["failure"][self.trials.failed].tolist()))

    def column(self, score: str) -> NDArray[Any]:
        """Return a score of each trial; NaN if it is not known, or does not count.

        A failed trial is 0 in a score of quality. In other scores only trials without failure count, and in times not
        even the first trials of workers, if these are left out. Unmeasured trials never count.
        """
        found = self.trials.values(score, zeros=score in self.quality)
        if score in TIMES and self.first_apart:
            found[self.trials.answered & (self.trials["first"] > 0)] = math.nan
        return found

    def means(self, score: str) -> NDArray[Any]:
        """Return the mean of a score over the repeats of its table's queries; NaN if it is not known."""
        if score not in self._means:
            self._means[score] = self.trials.means(self.column(score))
        return self._means[score]

    def without(self, score: str) -> Side:
        """Return the side without a score."""
        left = {name: column for name, column in self.trials.scores.items() if name != score}
        given = {name: column for name, column in self.trials.given.items() if name != score}
        return replace(self, trials=replace(self.trials, scores=left, given=given), quality=self.quality - {score})


def void_notes(sides: Iterable[Side]) -> Iterator[str]:
    """Yield a note on each side that cannot be compared."""
    for side in sides:
        if side.void:
            row = f"the row of {side.about['agent_name']} in {side.source}"
            yield f"{row} is void, so it is not compared: {side.void}"


MOST_SETTINGS, LONGEST_SETTING = 3, 40
"""Settings that a name says at most, and the characters of each."""

DIGESTS = ("judge_prompt", "catalog_digest")
"""Settings with values unknown to readers."""


def setting_value(key: str, value: Any) -> str:
    """Return the value of a compared setting for notes, a plan of faults in words, any other as JSON."""
    if value is None:
        return "none"
    return fault_words(value) if key == "faults" else json.dumps(value)


def unlike_settings(sides: Sequence[Side]) -> list[str]:
    """Return the compared settings that differ between the runs of sides.

    The name that frameworks use for the model is not compared if it is each model's own.
    """
    is_own = all(side.about["model_name"] == side.about["model"] for side in sides)
    values = {key: {json.dumps(side.about[key]) for side in sides} for key in compared_settings()}
    return [key for key, found in values.items() if len(found) > 1 and not (is_own and key == "model_name")]


def unique_names(sides: Sequence[Side]) -> list[Side]:
    """Return the sides with names that differ.

    If frameworks share a name, the settings that differ are added, or else the run's id, or else the source.
    """
    by_run = [f"{side.name} ({side.about['run_id']})" for side in sides]
    by_settings = []
    for side in sides:
        alike = [one for one in sides if one.name == side.name]
        differing = (key for key in unlike_settings(alike) if key not in DIGESTS)
        texts = [_setting_text(key, side.about[key]) for key in differing]
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
    """Return whether two sides are one framework in one run, under one judge, in any source."""
    same = ("run_id", "agent_name", *JUDGE_KEYS)
    return bool(one.about["run_id"]) and all(one.about[key] == other.about[key] for key in same)


def places_in(side: Side, other: Side) -> NDArray[Any]:
    """Return the place of the other side's queries in a side's table; -1 if it is not there."""
    import numpy as np

    ours, theirs = side.trials.queries, other.trials.queries
    if ours is theirs or ours == theirs:
        return np.arange(len(theirs))
    known = {query: place for place, query in enumerate(ours)}
    return np.fromiter((known.get(query, -1) for query in theirs), np.int64, len(theirs))


def shared_trials(baseline: Side, candidate: Side) -> tuple[Side, Side]:
    """Return both sides; if either lacks trials, with only the trials measured for both."""
    import numpy as np

    if not (baseline.missing or candidate.missing):
        return baseline, candidate
    ours, theirs = baseline.trials, candidate.trials
    place = places_in(baseline, candidate)[theirs["query"]]
    pairs = np.where(place < 0, -1, (place << 32) + theirs["repeat"])
    shared = np.intersect1d(ours.pairs[ours.measured], pairs[theirs.measured])
    first = replace(baseline, trials=ours.take(np.isin(ours.pairs, shared)))
    return first, replace(candidate, trials=theirs.take(np.isin(pairs, shared)))


def incomplete_note(side: Side) -> str:
    """Return a note on the missing trials of a side, or an empty text."""
    if not side.missing:
        return ""
    measured, about = int(side.trials.measured.sum()), side.about
    trials = f"{measured:,} of {number_of(measured + side.missing, 'trial')}"
    return f"run {about['run_id']} is {about['status']}, with {trials} of {about['agent_name']} measured"


RUN_NAME = re.compile(r"(latest|\d{4,8}|\d{8}T\d{0,6}|\d{8}T\d{6}-[0-9a-f]{0,6})(/.+)?", re.DOTALL)
"""A run's id, the beginning of one, or ``latest``, and a framework of it if only that is meant."""


def is_run_name(value: str) -> bool:
    """Return whether a text has the form of a run's id, of its beginning or ``latest``, with a framework or without."""
    return RUN_NAME.fullmatch(value) is not None


def make_side(source: str, about: Mapping[str, Any], trials: TrialTable, **more: Any) -> Side:
    """Return the side of a framework.

    Args:
        about: a document's metadata.
        trials: the ones to count.
        **more: other fields of the side.
    """
    judge, defaults = about.get("judge") or {}, compared_settings()
    known = {key: about.get(key) for key in ("agent_name", "framework_version", "run_id", "status", "dataset_digest")}
    known |= {key: about.get(key, usual) for key, usual in defaults.items()}
    known |= {"judge_prompt": judge.get("prompt"), "judge_rules": judge.get("rules"), "judge": about.get("judge")}
    due = max((about.get("num_queries") or 0) * (about.get("repeat") or 1), len(trials))
    lacks = 0 if known["status"] in (None, "finished") else due - int(trials.measured.sum())
    return Side(source, about["agent_name"], known, trials, missing=lacks, **more)


def run_sides(run: Run, table: TrialTable) -> dict[str, Side]:
    """Return the sides of a run's frameworks.

    Args:
        table: its trials that count.
    """
    quality, found = frozenset(table.quality), dict[str, Side]()
    for label in run.config.frameworks:
        own = table.of(label)
        found[label] = make_side(
            run.run_id,
            legacy_metadata(run, label, own),
            own,
            bounded=quality.union(name for name, kind in own.kinds.items() if kind.bounded),
            quality=quality,
            described=run.scores,
            first_apart=table.first_apart,
            void=framework_integrity(run.config, label, own["facts"]).void,
            against=run.against,
            margin=run.margin,
        )
    return found


def is_document(path: Path) -> bool:
    """Return whether a file is a result document, or the list of them that ``bench run --json`` prints."""
    if path.suffix == ".jsonl":  # rows, which may be too many to read together
        return False
    try:
        documents = _documents(json.loads(read_bytes(path)))
    except (OSError, ValueError):
        return False
    needed = {"metadata", "summary", "results"}
    return bool(documents) and all(isinstance(one, dict) and needed <= one.keys() for one in documents)


def read_groups(values: Sequence[str], store: str | None) -> list[list[Side]]:
    """Return the sides of files of result documents and of runs in the store, one per framework; a run is read once.

    Raises:
        DataError: a file is not a result document, or a run is not in the store.
    """
    known: dict[str, dict[str, Side]] = {}
    groups: list[list[Side]] = []
    for value in values:
        if value and Path(value).exists():
            groups.append(_read_documents(Path(value)))
            continue
        name, _, framework = value.partition("/")
        with open_store(store) as reader:
            run = require_frameworks(reader.run(name))
            if run.run_id not in known:
                known[run.run_id] = run_sides(run.record, run.table())
            sides = known[run.run_id]
            groups.append([sides[run.framework(framework)]] if framework else list(sides.values()))
    return groups


def _read_documents(path: Path) -> list[Side]:
    """Return the sides of a file of result documents.

    Raises:
        DataError: it is not one, or a value in it cannot be compared.
    """
    try:
        return [_side(str(path), document) for document in _documents(json.loads(read_bytes(path)))]
    except KeyError as error:
        raise DataError(f"{path}: not a result document of bench run: it lacks {error}") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a result document of bench run: {type(error).__name__}: {error}") from error


def _documents(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _side(source: str, document: Mapping[str, Any]) -> Side:
    about, summary = document["metadata"], document["summary"]
    bounded = frozenset(summary["intervals"])
    return make_side(
        source,
        about,
        _table(source, document["results"], bounded),
        bounded=bounded,
        quality=frozenset(summary["quality_scores"]),
        first_apart=not summary["first_trials"]["count"] or bool(summary["first_trials"]["kept_apart"]),
        void=str((summary.get("integrity") or {}).get("void") or ""),
    )


def _table(source: str, entries: Sequence[Mapping[str, Any]], bounded: Collection[str]) -> TrialTable:
    """Return the trials of a document.

    Args:
        bounded: the scores that lie in [0, 1].

    Raises:
        DataError: a trial is there twice, or its scores cannot be compared, as in a document that was changed by hand.
    """
    import numpy as np

    queries: dict[QueryId, int] = {}
    rows: dict[tuple[QueryId, int], dict[str, Any]] = {}
    for entry in entries:
        query_id, repeat, failure = entry["query_id"], entry["repeat"], str(entry.get("error", {"kind": ""})["kind"])
        where = f"{source}: task {query_id!r}"
        if not isinstance(repeat, int) or not 0 <= repeat < 2**31:
            raise DataError(f"{where}: repeat is {repeat!r:.40}, not a whole number from 0 to 2,147,483,647")
        if (query_id, repeat) in rows:
            raise DataError(f"{where} has repeat {repeat} more than once; keep one of them")
        scores = {name: float(value) for name, value in entry["scores"].items() if isinstance(value, int | float)}
        for name, value in entry["scores"].items():
            if name in bounded and value is not None and not -NEAR <= scores.get(name, math.nan) <= 1 + NEAR:
                raise DataError(f"{where}: {name} is {value!r}, not a number from 0 to 1")
            if not math.isfinite(scores.get(name, 0.0)):
                raise DataError(f"{where}: {name} is {value!r}, not a number")
        rows[query_id, repeat] = {
            "query": queries.setdefault(query_id, len(queries)),
            "repeat": repeat,
            "status": entry["status"],
            "failure": failure,
            "first": int(entry["timing"]["first"]),
            "absent": ",".join(name for name in OF_SOME if failure and name not in scores),
            "scores": scores,
        }
    read = list(rows.values())
    kinds = dict.fromkeys(("query", "repeat", "first"), np.int64)
    names = ("query", "repeat", "status", "failure", "first", "absent")
    columns = {name: np.array([row[name] for row in read], dtype=kinds.get(name, object)) for name in names}
    known = dict.fromkeys(name for row in read for name in row["scores"])
    scored = {name: np.array([row["scores"].get(name) for row in read], dtype=float) for name in known}
    return TrialTable((), list(queries), columns, scored, {name: np.isfinite(own) for name, own in scored.items()})
