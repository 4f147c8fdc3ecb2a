"""The trials of a report, packed: each becomes an object when it is looked at."""

from __future__ import annotations

import pickle
import zlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, overload

from trialbed.records import Score, TrialKey, Usage
from trialbed.report._columns import ReportedColumns
from trialbed.report._trials import Claimed, QueryId, ReportedTrial, WireCounts, short_score
from trialbed.spool import Spool, SpooledParts

PART = 32
"""Trials that are packed at once."""

UNPACKED = 16
"""Parts that stay unpacked at least: trials end almost in the order of their queries, or so for each repeat."""

EACH_REPEAT = 2
"""Parts that stay unpacked for each repeat, as the next trial of a query is in another part for each."""

LEVEL = 1
"""zlib's fastest."""

AS_IT_IS = tuple(item.name for item in fields(ReportedTrial) if item.name not in ("key", "scores", "wire", "claimed"))
COUNTS = tuple(item.name for item in fields(WireCounts) if item.name != "usage")
TOKENS = tuple(Usage.model_fields)
CLAIMS = tuple(item.name for item in fields(Claimed))

_as_it_is, _counts, _tokens, _claims = (attrgetter(*names) for names in (AS_IT_IS, COUNTS, TOKENS, CLAIMS))

Row = tuple[Any, ...]


class TrialPack:
    """Trials of a framework, in the order in which they were added.

    Args:
        spool: in which they are.

    Attributes:
        attempts: the number of each attempt.
    """

    def __init__(self, framework: str, spool: Spool) -> None:
        self._framework = framework
        self._parts = SpooledParts(spool)
        self._open: list[Row] = []
        self._unpacked: OrderedDict[int, list[Row]] = OrderedDict()
        self._repeats = 0
        self.attempts = array("I")

    def append(self, trial: ReportedTrial) -> None:
        """Add a trial."""
        self._open.append(_row(trial))
        self.attempts.append(trial.attempt)
        self._repeats = max(self._repeats, trial.repeat + 1)
        if len(self._open) >= PART:
            self._parts.append(zlib.compress(pickle.dumps(self._open, pickle.HIGHEST_PROTOCOL), LEVEL))
            self._open = []

    def __len__(self) -> int:
        return len(self.attempts)

    def __getitem__(self, place: int) -> ReportedTrial:
        part, own = divmod(place, PART)
        rows = self._open if part == len(self._parts) else self._rows(part)
        return _trial(self._framework, rows[own])

    def forget_unpacked(self) -> None:
        """Let go of unpacked parts."""
        self._unpacked.clear()

    def _rows(self, part: int) -> list[Row]:
        found = self._unpacked.get(part)
        if found is None:
            if len(self._unpacked) >= max(UNPACKED, EACH_REPEAT * self._repeats):
                with suppress(KeyError):  # another thread may have let go of all
                    self._unpacked.popitem(last=False)
            # This process packed it itself.
            found = self._unpacked[part] = pickle.loads(zlib.decompress(self._parts[part]))  # noqa: S301
        return found


def _row(trial: ReportedTrial) -> Row:
    scores, wire = trial.scores, trial.wire
    return (
        trial.key.query_id,
        trial.key.repeat,
        tuple([(score.name, score.label, score.bounded, score.quality) for score in scores]),
        [score.value for score in scores],
        {place: score for place, score in enumerate(scores) if score.failure is not None},
        _counts(wire),
        _tokens(wire.usage),
        _claims(trial.claimed),
        _as_it_is(trial),
    )


def _trial(framework: str, row: Row) -> ReportedTrial:
    query_id, repeat, kinds, values, failed, counts, tokens, claims, rest = row
    found: list[Score] = [short_score(*kind, value) for kind, value in zip(kinds, values, strict=True)]
    for place, score in failed.items():
        found[place] = score
    return ReportedTrial(
        key=TrialKey.model_construct(framework=framework, query_id=query_id, repeat=repeat),
        scores=tuple(found),
        wire=WireCounts(usage=_usage(*tokens), **dict(zip(COUNTS, counts, strict=True))),
        claimed=Claimed(*claims),
        **dict(zip(AS_IT_IS, rest, strict=True)),
    )


@lru_cache(maxsize=1_024)
def _usage(*tokens: int) -> Usage:
    return Usage(**dict(zip(TOKENS, tokens, strict=True)))


class PackedTrials(Sequence[ReportedTrial]):
    """The trials of a framework that count, in the order of the run's queries; each is unpacked when it is asked for.

    Attributes:
        columns: their figures, in the same order.
    """

    def __init__(self, pack: TrialPack, order: array[int], columns: ReportedColumns) -> None:
        self._pack = pack
        self._order = order
        self.columns = columns

    @overload
    def __getitem__(self, place: int) -> ReportedTrial: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[ReportedTrial, ...]: ...

    def __getitem__(self, place: int | slice) -> ReportedTrial | tuple[ReportedTrial, ...]:
        if isinstance(place, slice):
            return tuple(map(self._pack.__getitem__, self._order[place]))
        return self._pack[self._order[place]]

    def __iter__(self) -> Iterator[ReportedTrial]:
        return map(self._pack.__getitem__, self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == its for one, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment] # as that of a list

    @property
    def as_they_ended(self) -> Iterator[ReportedTrial]:
        """The same trials in the order in which they ended."""
        return map(self._pack.__getitem__, sorted(self._order))

    def find(self, key: TrialKey, attempt: int) -> int | None:
        """Return the place of an attempt; None where it is not one of these."""
        pair = self.columns.pair(key.query_id, key.repeat)
        if pair is None:
            return None
        place = bisect_left(range(len(self)), pair, key=self.columns.pair_at)
        is_there = place < len(self) and self.columns.pair_at(place) == pair
        return place if is_there and self._pack.attempts[self._order[place]] == attempt else None


def columns_of(trials: Sequence[ReportedTrial], numbers: dict[QueryId, int] | None = None) -> ReportedColumns:
    """Return trials of a framework in columns.

    Args:
        numbers: query -> its number; those that it lacks are added. Packed trials have their own.
    """
    if isinstance(trials, PackedTrials):
        return trials.columns
    known = {} if numbers is None else numbers
    for trial in trials:
        known.setdefault(trial.query_id, len(known))
    found = ReportedColumns(known, Spool())
    for trial in trials:
        found.add(trial)
    return found


def finder(trials: Sequence[ReportedTrial]) -> Callable[[TrialKey, int], int | None]:
    """Return a function that gives the place of an attempt among trials of a framework; None where it is not there."""
    if isinstance(trials, PackedTrials):
        return trials.find
    places = {(trial.key, trial.attempt): place for place, trial in enumerate(trials)}
    return lambda key, attempt: places.get((key, attempt))
