"""Ranks that the comparisons of every pair leave open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations

from trialbed.records import shown_name
from trialbed.report.comparison._findings import paired_findings
from trialbed.report.comparison._sides import Side

Ranks = Mapping[str, Mapping[str, tuple[int, int]]]
"""Score -> name -> the best and the worst rank."""

LEAST = 3
"""Sides from which on there is something to rank: a verdict says all of two."""


def open_ranks(sides: Sequence[Side], margin: float, scores: Sequence[str] | None = None) -> Ranks:
    """The ranks of each side by each score, from the findings on every pair; empty for fewer than three sides.

    A side that is void has none. The best rank of a side is behind all that are better, the worst is before all that
    are worse. All sides with a rank in common are tied: where no difference is shown, none is claimed. The p-values are
    adjusted over all pairs.

    Args:
        sides: with names that differ.
        margin: as ``paired_findings`` takes it.
    """
    sides = [side for side in sides if not side.void]
    if len(sides) < LEAST:
        return {}
    found = paired_findings(list(combinations(sides, 2)), margin, scores)
    ranks: dict[str, dict[str, tuple[int, int]]] = {}
    for score in dict.fromkeys(finding.score for finding in found):
        better = [
            (one.candidate, one.baseline) if one.verdict == "better" else (one.baseline, one.candidate)
            for one in found
            if one.score == score and one.is_difference
        ]
        ranks[score] = {
            side.name: (
                1 + sum(1 for _, worse in better if worse == side.name),
                len(sides) - sum(1 for winner, _ in better if winner == side.name),
            )
            for side in sides
        }
    return ranks


NO_ORDER = "no order is shown, as each may be at any rank"


def rank_notes(ranks: Ranks, drawn: Collection[str] = (), named: Callable[[str], str] = shown_name) -> Iterator[str]:
    """The ranks in words, the best first: those with the same ranks stand together; then the meaning of ranks.

    Args:
        drawn: scores whose ranks a drawing shows.
        named: names a score.
    """
    said: dict[str, list[str]] = {}
    for score, found in ranks.items():
        if score in drawn:
            continue
        bands: dict[tuple[int, int], list[str]] = {}
        for name, rank in sorted(found.items(), key=lambda item: item[1]):
            bands.setdefault(rank, []).append(name)
        texts = [f"{_rank_text(rank)} {', '.join(names)}" for rank, names in bands.items()]
        said.setdefault("; ".join(texts) if len(texts) > 1 else NO_ORDER, []).append(named(score))
    yield from (f"ranks by {' and by '.join(names)}: {text}." for text, names in said.items())
    sides = max((len(found) for found in ranks.values()), default=0)
    if drawn or set(said) - {NO_ORDER}:
        pairs = sides * (sides - 1) // 2
        yield (
            f"Frameworks share a rank unless one is shown to be better. p is adjusted over all {pairs} pairs here, so "
            "that ranks may show less than the comparison with one of them."
        )


def _rank_text(rank: tuple[int, int]) -> str:
    low, high = rank
    return str(low) if low == high else f"{low} to {high}"
