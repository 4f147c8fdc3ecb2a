"""The trials of a run as columns. Every figure, table, page and comparison groups them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Double, Integer, case, func, literal, select

from trialbed.errors import DataError
from trialbed.records import AttributedCall, Failure, Json, Run, TrialKey
from trialbed.scoring import ALWAYS, JUDGED
from trialbed.store._database import NUMBERS, scores, trials
from trialbed.store._rows import decode, encode_id
from trialbed.store._trials import AttemptSummary, counted_attempts

if TYPE_CHECKING:
    from numpy.typing import NDArray

QueryId = int | str

PART = 20_000
"""Rows of scores per fetch."""

SEVERAL, REPLACED = 1, 2
"""Values of the column ``again``. Other attempts of the trial were measured, or an earlier attempt was."""


class ScoreKind(NamedTuple):
    """The kind of a score, with its range and its value for failed trials."""

    bounded: bool
    quality: bool


@dataclass(frozen=True)
class TrialTable:
    """Trials in columns with one value per trial.

    Attributes:
        labels: the frameworks of the run; ``framework`` indexes it.
        queries: ids; ``query`` indexes it.
        columns: the columns of the store. ``failure`` is empty if there is no failure. ``absent`` has the scores that a
            trial cannot have; a failed trial is not 0 in them. In place of ``id`` and ``query_id``: ``row`` (identifies
            the attempt in its store) and ``query``. Added: ``counts``, ``again`` and ``verdict`` (label of the judge's
            score, or empty).
        scores: by name, NaN for a trial without a finite value.
        given: by name, the trials that have the score, even without a value.
        kinds: of the scores, in no order.
        undetermined: row -> score -> why the score has no value.
        reasons: row -> the judge's words on an answer that is not solved.
    """

    labels: Sequence[str]
    queries: Sequence[QueryId]
    columns: Mapping[str, NDArray[Any]]
    scores: Mapping[str, NDArray[Any]]
    given: Mapping[str, NDArray[Any]]
    kinds: Mapping[str, ScoreKind] = field(default_factory=dict)
    undetermined: Mapping[int, Mapping[str, Failure]] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["query"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __iter__(self) -> Iterator[TrialRow]:
        return (TrialRow(self, place) for place in range(len(self)))

    def row(self, place: int) -> TrialRow:
        """Return one trial."""
        return TrialRow(self, place)

    def take(self, chosen: NDArray[Any]) -> TrialTable:
        """Return some trials, by their places or by a mask."""
        columns, found, given = (
            {name: column[chosen] for name, column in part.items()} for part in (self.columns, self.scores, self.given)
        )
        return replace(self, columns=columns, scores=found, given=given)

    def of(self, label: str) -> TrialTable:
        """Return the trials of one framework."""
        return self.take(self["framework"] == self.labels.index(label))

    @cached_property
    def answered(self) -> NDArray[Any]:
        """For each trial, whether it ended without failure."""
        found: NDArray[Any] = self["status"] == "answered"
        return found

    @cached_property
    def failed(self) -> NDArray[Any]:
        """For each trial, whether it failed in a way that counts."""
        found: NDArray[Any] = self["status"] == "failed"
        return found

    @property
    def measured(self) -> NDArray[Any]:
        """For each trial, whether it was measured."""
        found: NDArray[Any] = self.answered | self.failed
        return found

    @property
    def pairs(self) -> NDArray[Any]:
        """The query and the repeat of each trial as one number."""
        import numpy as np

        found: NDArray[Any] = (self["query"].astype(np.int64) << 32) + self["repeat"]
        return found

    def values(self, score: str, *, zeros: bool) -> NDArray[Any]:
        """Return a score per trial, NaN if it does not count there.

        Args:
            zeros: whether a trial that failed counts as 0.
        """
        import numpy as np

        found = np.full(len(self), np.nan)
        if score in self.scores:
            found[self.answered] = self.scores[score][self.answered]
        if zeros:
            failed, absent = np.flatnonzero(self.failed).tolist(), self["absent"]
            found[[place for place in failed if score not in absent[place].split(",")]] = 0.0
        return found

    def means(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the mean of a column per query, over trials with a value; NaN without any.

        Sums are computed with more digits and rounded once, like ``fmean``.
        """
        import numpy as np

        found = np.full(len(self.queries), np.nan)
        known = ~np.isnan(column)
        query, column = self["query"][known], column[known]
        if not len(query):
            return found
        ordered = np.argsort(query, kind="stable")
        own, starts, counts = np.unique(query[ordered], return_index=True, return_counts=True)
        sums = np.add.reduceat(column[ordered].astype(np.longdouble), starts).astype(np.float64)
        found[own] = sums / counts
        return found

    @cached_property
    def quality(self) -> tuple[str, ...]:
        """The scores that measure an answer's quality; a failed trial counts as 0 in them."""
        found = self.names(self.answered)
        return tuple(dict.fromkeys([*ALWAYS, *(name for name in found if self.kinds[name].quality)]))

    @cached_property
    def first_apart(self) -> bool:
        """Whether times leave out each worker's first trial.

        They do not if any framework has no other times: it alone would be shown with the start-up of its workers.
        """
        return self.are_first_apart(self.answered)

    def are_first_apart(self, chosen: NDArray[Any]) -> bool:
        """Return the same for some trials without failure."""
        later = chosen & (self["first"] == 0)
        return set(self["framework"][chosen].tolist()) == set(self["framework"][later].tolist())

    def names(self, chosen: NDArray[Any]) -> list[str]:
        """Return the scores of these trials in the order they first appear."""
        first = {name: int(has.argmax()) for name, column in self.given.items() if (has := column & chosen).any()}
        return sorted(first, key=lambda name: first[name])


@dataclass(frozen=True)
class TrialRow:
    """One trial of a table."""

    table: TrialTable = field(repr=False)
    place: int

    def __getitem__(self, name: str) -> Any:
        return self.table[name][self.place]

    @property
    def key(self) -> TrialKey:
        """The framework, the query and the repeat."""
        label = self.table.labels[self["framework"]]
        return TrialKey.model_construct(framework=label, query_id=self.query_id, repeat=self.repeat)

    @property
    def query_id(self) -> QueryId:
        """The query."""
        return self.table.queries[int(self["query"])]

    @property
    def repeat(self) -> int:
        """The number of the repeat, from 0."""
        return int(self["repeat"])

    @property
    def status(self) -> str:
        """``answered``, ``failed`` or ``not measured``."""
        return str(self["status"])

    @property
    def failure(self) -> Failure | None:
        """The reason why it has no answer that counts."""
        kind = self["failure"]
        return Failure.model_construct(kind=kind, message=self["facts"].get("message") or "") if kind else None

    @property
    def verdict(self) -> str:
        """The judge's verdict, ``Solved``, ``Unsure`` or ``Unsolved``; ``Error`` without a verdict."""
        return (self["verdict"] if self.status == "answered" else "") or "Error"

    @property
    def reason(self) -> str:
        """The judge's words on an answer that is not solved, or why there is no verdict."""
        row = int(self["row"])
        missing = self.table.undetermined.get(row, {}).get(JUDGED)
        return missing.message if missing is not None else self.table.reasons.get(row, "")

    @property
    def gold_calls(self) -> tuple[AttributedCall, ...]:
        """What became of the expected calls of its query."""
        return tuple(map(AttributedCall.model_validate, self["facts"].get("gold_calls") or ()))

    @property
    def faults(self) -> int:
        """Calls that the server refused, or that could not be made, and requests to the model that failed."""
        return int(self["api_errors"] + self["invalid_calls"] + self["request_errors"])

    def score(self, name: str) -> float | None:
        """Return the value of a score; None without one."""
        value = self.table.scores[name][self.place] if name in self.table.scores else None
        return None if value is None or value != value else float(value)


def read_table(connection: Connection, run: Run, renamed: Mapping[str, str]) -> TrialTable:
    """Read every attempt of a run, ordered by framework, query and repeat.

    The column ``counts`` marks the attempt of each trial that counts.

    Args:
        renamed: name of a score -> its name in the table, in place of any score with that name.

    Raises:
        DataError: a trial belongs to a query that is not in the run.
    """
    import numpy as np

    labels, queries = run.config.frameworks, run.config.query_ids
    read = [column for column in trials.c if column.name not in ("run_id", "record")]
    chosen = select(*read).where(trials.c.run_id == run.run_id, trials.c.framework.in_(labels))
    parts: Sequence[Sequence[Any]] = list(zip(*connection.execute(chosen).all(), strict=True)) or [()] * len(read)
    # Numbers that may not be known are NaN then.
    kinds = {Integer: np.int64, Double: np.float64}
    columns = {
        column.name: np.array(part, dtype=kinds.get(type(column.type), object))
        for column, part in zip(read, parts, strict=True)
    }
    known = {label: place for place, label in enumerate(labels)}
    positions = {encode_id(query_id): place for place, query_id in enumerate(queries)}
    if foreign := [text for text in columns["query_id"].tolist() if text not in positions]:
        raise DataError(f"there is a trial of task {decode(foreign[0])!r}, which is not one of the run's tasks")
    for name, places in (("framework", known), ("query_id", positions)):
        columns[name] = np.array([places[text] for text in columns[name].tolist()], dtype=np.int64)
    columns |= {"row": columns.pop("id"), "query": columns.pop("query_id")}
    columns["failure"] = np.array([kind or "" for kind in columns["failure"].tolist()], dtype=object)
    columns["facts"] = np.fromiter(map(decode, columns["facts"]), dtype=object)
    order = np.lexsort([columns[name] for name in ("attempt", "repeat", "query", "framework")])
    columns = {name: column[order] for name, column in columns.items()}
    # Which attempt of each trial counts, and which trials were measured again.
    keys = ("framework", "query", "repeat", "attempt", "status", "adapter_digest", "failure")
    rows = zip(*(columns[name].tolist() for name in keys), strict=True)
    every = [AttemptSummary(row[:3], row[3], row[4], row[5], row[6], place) for place, row in enumerate(rows)]
    counted = {one.key: one for one in counted_attempts(every)}
    counts, again = np.zeros(len(every), dtype=bool), np.zeros(len(every), dtype=np.int64)
    counts[[one.row for one in counted.values()]] = True
    for one in every if len(counted) < len(every) else ():
        own = counted[one.key]
        if one is not own and one.status != "not measured":
            again[own.row] = max(again[own.row], REPLACED if one.attempt < own.attempt else SEVERAL)
    columns |= {"counts": counts, "again": again}
    found = _read_scores(connection, run.run_id, columns["row"], renamed)
    columns["verdict"] = found.pop("verdict")
    return TrialTable(labels, queries, columns, **found)


def _read_scores(connection: Connection, run_id: str, rows: NDArray[Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    import numpy as np

    of_run = scores.c.trial_id.in_(select(trials.c.id).where(trials.c.run_id == run_id))
    grouped = select(scores.c.name, func.min(scores.c.bounded), func.min(scores.c.quality)).where(of_run)
    # A trial may lack scores; the places of its others are then lower.
    order = func.max(scores.c.position), func.min(scores.c.position), scores.c.name
    stored = connection.execute(grouped.group_by(scores.c.name).order_by(*order)).all()
    shown = {name: renamed.get(name, "" if name in renamed.values() else name) for name, *_ in stored}
    kinds = {shown[name]: ScoreKind(bool(one), bool(other)) for name, one, other in stored if shown[name]}
    places = {name: place for place, name in enumerate(kinds)}
    numbers = {name: places.get(other, len(kinds)) for name, other in shown.items()}
    # The last row and the last column take all values that are left out.
    values = np.full((len(kinds) + 1, len(rows) + 1), np.nan)
    given = np.zeros(values.shape, dtype=bool)
    by_id = np.argsort(rows)
    ids = rows[by_id]
    # Only numbers are read into an array in one step. A name is its place, and no value is infinite.
    code = case(numbers, value=scores.c.name) if numbers else literal(0)
    value = func.coalesce(scores.c.value, literal(np.inf, Double))
    found = connection.execute(select(scores.c.trial_id, code, value).where(of_run)).cursor
    while found is not None and len(rows) and (part := found.fetchmany(PART)):
        own, codes, found_values = np.array(part, dtype=np.float64).T
        near = np.minimum(np.searchsorted(ids, own), len(ids) - 1)
        at = np.where(ids[near] == own, by_id[near], len(rows))
        values[codes.astype(np.int64), at] = found_values
        given[codes.astype(np.int64), at] = True
    values[~np.isfinite(values)] = np.nan
    return {
        "scores": {name: values[place, : len(rows)] for name, place in places.items()},
        "given": {name: given[place, : len(rows)] for name, place in places.items()},
        "kinds": kinds,
        **_read_words(connection, of_run, rows, shown),
    }


def _read_words(connection: Connection, of_run: Any, rows: NDArray[Any], shown: Mapping[str, str]) -> dict[str, Any]:
    """Read verdicts, the reasons of verdicts other than Solved, and why scores have no value."""
    import numpy as np

    judged = next((name for name, other in shown.items() if other == JUDGED), JUDGED)
    columns = (scores.c.trial_id, scores.c.name, scores.c.label, scores.c.record)
    chosen = select(*columns).where(of_run, (scores.c.name == judged) | scores.c.value.is_(None))
    labels: dict[int, str] = {}
    undetermined: dict[int, dict[str, Failure]] = {}
    reasons: dict[int, str] = {}
    for row, name, label, text in connection.execute(chosen.order_by(scores.c.trial_id, scores.c.position)):
        if name == judged and label == "Solved":
            labels[row] = label
            continue
        record: dict[str, Json] = json.loads(text)
        if record["value"] is None:
            failure = record["failure"] or {"kind": "scorer", "message": "no reason is given"}
            undetermined.setdefault(row, {})[shown[name]] = Failure.model_construct(**failure)
        elif name == judged:
            labels[row], reasons[row] = label or "", str(record["detail"].get("reason") or "")
    verdicts = np.array([labels.get(row, "") for row in rows.tolist()], dtype=object)
    return {"verdict": verdicts, "undetermined": undetermined, "reasons": reasons}


ENDS = trials.c.framework, trials.c.status


def read_headline(connection: Connection, run: Run) -> dict[str, tuple[int, int, float | None]] | None:
    """Return the answered and failed trials of each framework and its mean of ``sopr_score``, by SQL alone.

    None if trials have several attempts, or another model may have answered: only the whole table has them then. Of a
    verification, the last attempt of each case counts, and nothing is judged.
    """
    of_run = trials.c.run_id == run.run_id
    if run.kind == "endpoints":
        last = select(func.max(trials.c.id)).where(of_run)
        last = last.group_by(trials.c.framework, trials.c.query_id, trials.c.repeat)
        ends = select(trials.c.framework, trials.c.status, func.count()).where(trials.c.id.in_(last))
        counts = {(label, status): count for label, status, count in connection.execute(ends.group_by(*ENDS))}
        labels = run.config.frameworks
        return {one: (counts.get((one, "answered"), 0), counts.get((one, "failed"), 0), None) for one in labels}
    uncertain = (trials.c.attempt > 0) | trials.c.facts.contains('"other_model_answered"')
    if connection.scalar(select(trials.c.id).where(of_run, uncertain).limit(1)) is not None:
        return None
    judged = scores.c.value.is_not(None) & (scores.c.name == JUDGED)
    joined = trials.outerjoin(scores, (scores.c.trial_id == trials.c.id) & judged)
    columns = (trials.c.framework, trials.c.status, func.count(), func.count(scores.c.value), func.sum(scores.c.value))
    chosen = select(*columns).select_from(joined).where(of_run).group_by(trials.c.framework, trials.c.status)
    read = {(label, status): rest for label, status, *rest in connection.execute(chosen)}
    found: dict[str, tuple[int, int, float | None]] = {}
    for label in run.config.frameworks:
        answered, number, total = read.get((label, "answered"), (0, 0, None))
        failed = read.get((label, "failed"), (0,))[0]
        found[label] = answered, failed, (total or 0.0) / (number + failed) if number + failed else None
    return found


def frame_columns(table: TrialTable, run: Run, zeros: Collection[str], untimed: Collection[str]) -> dict[str, Any]:
    """Return the columns of a data frame. The means of its scores are equal to the means in tables.

    Args:
        zeros: the scores that are 0 in a failed trial.
        untimed: the scores that the first trial of a worker does not have.
    """
    import numpy as np

    labels = np.array(table.labels, dtype=object)
    models = np.array([run.config.cell(label).model for label in table.labels], dtype=object)
    tagged = {tag: {*queries} for tag, queries in run.config.tags.items()}
    tags = ([tag for tag, own in tagged.items() if query_id in own] for query_id in table.queries)
    found: dict[str, Any] = {
        "run_id": run.run_id,
        "model": models[table["framework"]],
        "test_set": run.config.test_set,
        "framework": labels[table["framework"]],
        "query_id": np.array(list(table.queries), dtype=object)[table["query"]],
        "tags": np.fromiter(tags, dtype=object)[table["query"]],
        **{name: table[name] for name in ("repeat", "attempt", "status")},
        "failure": np.array([kind or None for kind in table["failure"]], dtype=object),
        "answer_status": np.array([label or None for label in table["verdict"]], dtype=object),
        "first": table["first"] > 0,
    }
    for name in dict.fromkeys([*table.names(table.measured), *zeros]):
        column = table.values(name, zeros=name in zeros)
        found[name] = np.where(table["first"] > 0, np.nan, column) if name in untimed else column
    # Scores of the same name say less: they have no value if the model did not report all tokens.
    return found | {name: table[name] for name in NUMBERS if name not in found}
