"""The results of contests, as a table and as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trialbed.scoring import judge_note
from trialbed.views import UNKNOWN, Table, number
from trialbed_evaluation.preference._deciding import Ground
from trialbed_evaluation.preference._runs import PreferenceResult

GROUNDS: dict[Ground, str] = {
    "status": "by the solved status",
    "missing": "by a missing answer",
    "identical": "by equal answers",
    "judge": "by the judge",
}

FIGURES = ("baseline", "candidate", "contests", "wins", "losses", "ties", "undecided", "not_measured", "p")
"""Those of a record, beside the win rate."""


def preference_table(results: Sequence[PreferenceResult]) -> Table:
    """Return a row per pair."""
    columns = ("candidate against baseline", "wins", "losses", "ties", "undecided", "win rate", "95 % interval", "p")
    notes = [
        "The win rate is the candidate's wins over wins, losses and ties; undecided contests are left out. "
        "The solved status decides first, a missing answer loses, and the judge sees each pair in both orders."
    ]
    judges = dict.fromkeys(judge_note(str(one.judge.get("driver")), one.judge) for one in results)
    return Table.of("preference", columns, map(_row, results), [*notes, *map(_note, results), *filter(None, judges)])


def undecided_lines(results: Sequence[PreferenceResult]) -> list[str]:
    """List the pairs with contests that the judge did not decide."""
    return [
        f"{_name(one)}: {one.undecided} of {one.contests} contests are undecided, because the judge failed; the same "
        "command asks it again"
        for one in results
        if one.undecided
    ]


def preference_records(results: Sequence[PreferenceResult]) -> list[dict[str, Any]]:
    """Return the figures of each pair."""
    return [
        {name: getattr(one, name) for name in FIGURES} | {"win_rate": one.win_rate.value if one.win_rate else None}
        for one in results
    ]


def _row(one: PreferenceResult) -> tuple[str, ...]:
    interval = one.win_rate.interval if one.win_rate else None
    between = f"{number(interval.low)}-{number(interval.high)}" if interval else UNKNOWN
    rate = number(one.win_rate.value) if one.win_rate else UNKNOWN
    counts = map(str, (one.wins, one.losses, one.ties, one.undecided))
    return (_name(one), *counts, rate, between, _p(one.p))


def _name(one: PreferenceResult) -> str:
    return f"{one.candidate} against {one.baseline}"


def _p(value: float | None) -> str:
    return "<0.001" if value is not None and value < 0.001 else number(value)


def _note(one: PreferenceResult) -> str:
    return f"{_name(one)}: {'; '.join(_grounds(one))}."


def _grounds(one: PreferenceResult) -> Iterator[str]:
    yield from (f"{one.by[ground]} {words}" for ground, words in GROUNDS.items() if ground in one.by)
    if one.order_consistency is not None:
        yield f"{100 * one.order_consistency:.0f} % of votes the same in both orders"
    if one.undecided:
        first = next(decision.reason for decision in one.decisions if decision.winner is None)
        yield f"{one.undecided} undecided, because the judge failed: {first}"
    if one.not_measured:
        yield f"{one.not_measured} not measured for both"
