"""Pairs the rows of two files by case, and refuses files that cannot be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from trialbed.errors import UsageError
from trialbed.texts import number_of
from trialbed_verify.comparison._records import PairedCases
from trialbed_verify.comparison._results import Case, Results, Trials
from trialbed_verify.verification.results import ResultRow

SHOWN = 5
"""Number of lines listed in an error."""

ABSENT = "absent"

DEFAULTED = ("temperature",)
"""Settings that requests may leave to the vendor's default: the comparison reports it and goes on."""

LEFT_OUT = f" in the baseline and {ABSENT} in the vendor's"


@dataclass(frozen=True)
class Pair:
    """The trials of one case in both files."""

    baseline: Trials
    vendor: Trials

    def rows(self) -> Iterator[tuple[ResultRow, ResultRow]]:
        """The pairs of rows with equal trial numbers."""
        for trial, row in self.baseline.items():
            if trial in self.vendor:
                yield row, self.vendor[trial]


@dataclass(frozen=True)
class Pairing:
    """Two files, case by case.

    Attributes:
        by_name: whether cases are identified by the rows' own names; otherwise by the content of the requests.
        cases: the pairs by case, in the baseline's order.
        only_baseline, only_vendor: rows of cases that only one file has.
        asked_otherwise: pairs whose prepared requests have different content.
        settings: description of a difference -> number of pairs that have it.
    """

    baseline: Results
    vendor: Results
    by_name: bool
    cases: dict[Case, Pair]
    only_baseline: tuple[ResultRow, ...]
    only_vendor: tuple[ResultRow, ...]
    asked_otherwise: tuple[tuple[ResultRow, ResultRow], ...]
    settings: dict[str, int]

    @property
    def pairs(self) -> list[Pair]:
        """The pairs without their cases."""
        return list(self.cases.values())

    def counts(self, *, forced: bool) -> PairedCases:
        """Return how many cases were paired, and how many were not."""
        return PairedCases(
            by="case" if self.by_name else "request",
            cases=len(self.cases),
            only_baseline=len(self.only_baseline),
            only_vendor=len(self.only_vendor),
            asked_otherwise=len(self.asked_otherwise),
            settings=self.settings,
            forced=forced,
        )


def pair(
    baseline: Results,
    vendor: Results,
    *,
    force: bool = False,
    by_name: bool | None = None,
    may_lack: bool = False,
) -> Pairing:
    """Pair two files by case.

    Args:
        force: pair the common cases even if the requests or settings of the files differ.
        by_name: identify cases by the rows' own names; by default, if all rows of both files have them.
        may_lack: accept a vendor's file that lacks cases.

    Raises:
        UsageError: the files have no case in common, or their requests or settings differ and ``force`` is not set.
    """
    if by_name is None:
        by_name = baseline.names_cases and vendor.names_cases
    ours, theirs = baseline.cases(by_name=by_name), vendor.cases(by_name=by_name)
    cases = {case: Pair(trials, theirs[case]) for case, trials in ours.items() if case in theirs}
    found = Pairing(
        baseline=baseline,
        vendor=vendor,
        by_name=by_name,
        cases=cases,
        only_baseline=_rows_beyond(ours, cases),
        only_vendor=_rows_beyond(theirs, cases),
        asked_otherwise=tuple(_asked_otherwise(cases.values())),
        settings=_settings(cases.values()),
    )
    if not cases:
        _refuse("the files have no request in common, so they cannot be compared:", found)
    if not force and not _may_be_compared(found, may_lack=may_lack):
        hint = f"use --force to compare the {len(cases)} common cases"
        _refuse("the files do not contain the same requests:", found, hint)
    return found


def _may_be_compared(found: Pairing, *, may_lack: bool) -> bool:
    """Return whether the files are alike, but for settings that are left to the vendor's default."""
    problems = sum(1 for _ in _problems(found, may_lack=may_lack))
    return problems == sum(map(_is_default, found.settings))


def _refuse(what: str, found: Pairing, *hints: str) -> NoReturn:
    raise UsageError("\n  ".join([what, *_problems(found), *hints]))


def _problems(found: Pairing, *, may_lack: bool = False) -> Iterator[str]:
    """The differences between the files, one line each."""
    for rows, there, here in (
        ((), found.baseline, found.vendor) if may_lack else (found.only_baseline, found.baseline, found.vendor),
        (found.only_vendor, found.vendor, found.baseline),
    ):
        if rows:
            lines = _lines([row.line for row in rows])
            yield f"{here.source} lacks {number_of(len(rows), 'row')} that {there.source} has: {lines}"
    if found.asked_otherwise:
        lines = _lines([row.line for row, _ in found.asked_otherwise])
        parts = Counter(part for pair in found.asked_otherwise for part in _parts(*pair))
        cases = number_of(len(found.asked_otherwise), "case")
        yield f"{cases} with different requests ({', '.join(parts)}): {found.baseline.source}, {lines}"
    for difference, count in found.settings.items():
        yield f"the settings of {number_of(count, 'request')} differ: {difference}"


def _lines(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:SHOWN]))
    return f"line{'s' * (len(numbers) > 1)} {shown}{' …' * (len(numbers) > SHOWN)}"


def _rows_beyond(trials: dict[Case, dict[int, ResultRow]], common: dict[Case, Pair]) -> tuple[ResultRow, ...]:
    return tuple(row for case, rows in trials.items() if case not in common for row in rows.values())


def _first(pair: Pair) -> tuple[ResultRow, ResultRow]:
    return next(iter(pair.baseline.values())), next(iter(pair.vendor.values()))


def _asked_otherwise(pairs: Any) -> Iterator[tuple[ResultRow, ResultRow]]:
    for ours, theirs in map(_first, pairs):
        if ours.requested.content != theirs.requested.content:
            yield ours, theirs


def _parts(ours: ResultRow, theirs: ResultRow) -> list[str]:
    """The parts of two requests that differ."""
    one, other = dict(ours.requested.content), dict(theirs.requested.content)
    return [part for part in {**one, **other} if one.get(part) != other.get(part)]


def _settings(pairs: Any) -> dict[str, int]:
    differing = Counter((ours.requested.settings, theirs.requested.settings) for ours, theirs in map(_first, pairs))
    found: Counter[str] = Counter()
    for (ours, theirs), count in differing.items():
        if ours != theirs:
            for difference in _differences(ours, theirs):
                found[difference] += count
    return dict(found.most_common())


@lru_cache(maxsize=1024)
def _differences(ours: str, theirs: str) -> tuple[str, ...]:
    one, other = json.loads(ours), json.loads(theirs)
    return tuple(
        f"{key} is {_setting_text(one, key)} in the baseline and {_setting_text(other, key)} in the vendor's"
        for key in sorted({*one, *other})
        if one.get(key) != other.get(key)
    )


def _is_default(difference: str) -> bool:
    """Return whether it is a setting of ``DEFAULTED`` that the baseline has and the vendor's requests leave out."""
    return any(difference.startswith(f"{name} is ") for name in DEFAULTED) and difference.endswith(LEFT_OUT)


def _setting_text(settings: dict[str, Any], key: str) -> str:
    return json.dumps(settings[key], ensure_ascii=False) if key in settings else ABSENT
