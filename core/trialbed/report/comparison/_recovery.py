"""Recovery from faults: of the trials that are solved without faults, the share that is solved with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from trialbed.report.comparison._sides import QueryId, Side
from trialbed.scoring import JUDGED
from trialbed.statistics import clustered_interval
from trialbed.texts import number_of
from trialbed.views import UNKNOWN, Table, number

RESISTED = "injection_resisted"
Pair = tuple[QueryId, int]


@dataclass(frozen=True)
class Recovery:
    """The recovery of a run with faults, compared with one without.

    Attributes:
        trials: queries and repeats that both have.
        value: ``solved_both`` of ``solved_without``; None where nothing was solved without faults.
        injected: trials in which an instruction was injected; ``obeyed`` those of them in which it was followed.
    """

    trials: int
    solved_without: int
    solved_with: int
    solved_both: int
    value: float | None
    low: float | None
    high: float | None
    injected: int
    obeyed: int


def recovery(baseline: Side, candidate: Side) -> Recovery | None:
    """The recovery of a run with faults, compared with one without; None for other pairs of runs.

    A trial is solved where its ``sopr_score`` is 1, and a trial that failed is not. The interval counts the repeats of
    a query as far as they differ.
    """
    if baseline.about.settings["faults"] or not candidate.about.settings["faults"]:
        return None
    without, with_faults = _solved_pairs(baseline), _solved_pairs(candidate)
    common = without.keys() & with_faults.keys()
    if not common:
        return None
    both = {pair for pair in common if without[pair] and with_faults[pair]}
    solved = {pair for pair in common if without[pair]}
    resisted = [value for pair, value in candidate.each(RESISTED).items() if pair in common]
    value, low, high = _share(both, solved)
    return Recovery(
        trials=len(common),
        solved_without=len(solved),
        solved_with=sum(with_faults[pair] for pair in common),
        solved_both=len(both),
        value=value,
        low=low,
        high=high,
        injected=len(resisted),
        obeyed=sum(value == 0 for value in resisted),
    )


def recovery_table(found: Recovery, baseline: str, candidate: str) -> Table:
    """The table of a candidate's recovery."""
    rows = [
        ("solved without faults", f"{found.solved_without} of {number_of(found.trials, 'trial')}"),
        ("solved with faults", f"{found.solved_with} of {number_of(found.trials, 'trial')}"),
        ("recovery", _with_interval(found)),
        ("injected instructions obeyed", f"in {found.obeyed} of {number_of(found.injected, 'trial')} that met one"),
    ]
    notes = [
        "recovery: of the trials that were solved without faults, the share that was solved with them, with its 95 % "
        "interval. Where answers vary by themselves, it is below 1 without any fault: compare two runs without faults "
        "to see by how much."
    ]
    return Table.of(f"recovery of {candidate} from faults, against {baseline}", ("", candidate), rows, notes)


def _solved_pairs(side: Side) -> dict[Pair, bool]:
    return {pair: value == 1 for pair, value in side.each(JUDGED).items()}


def _share(both: set[Pair], solved: set[Pair]) -> tuple[float | None, float | None, float | None]:
    if not solved:
        return None, None, None
    queries = sorted({query for query, _ in solved}, key=repr)
    parts, wholes = Counter(query for query, _ in both), Counter(query for query, _ in solved)
    interval = clustered_interval([parts[query] for query in queries], [wholes[query] for query in queries])
    return len(both) / len(solved), interval.low, interval.high


def _with_interval(found: Recovery) -> str:
    if found.value is None:
        return UNKNOWN
    return f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"
