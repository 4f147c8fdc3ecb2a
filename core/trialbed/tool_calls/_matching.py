"""Finds the pairs of calls made and calls wanted that are worth most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from operator import itemgetter

Worth = Callable[[int, int], float]
"""(place of a call made, place of a call wanted) -> points of the pair; asked for pairs of one name only."""

Pairs = list[tuple[int, int]]
"""(place of a call made, place of a call wanted)."""

Names = tuple[Sequence[str], Sequence[str]]
"""The names of all calls made, and of all calls wanted."""

Value = tuple[float, int]
"""Points, and the number of pairs."""

SMALL = 3
"""Calls of one name up to which all assignments are tried, so that scipy is not imported."""


def free_pairs(made: Sequence[int], right: Sequence[int], names: Names, worth: Worth) -> Pairs:
    """Return the best pairs where any order is right: for each name as many as there can be.

    Args:
        made: places of the calls made that are to be paired; ``right``: of those wanted.
        names: the names of all calls made, and of all wanted.
    """
    wanted: dict[str, list[int]] = {}
    for place in right:
        wanted.setdefault(names[1][place], []).append(place)
    given: dict[str, list[int]] = {}
    for place in made:
        if names[0][place] in wanted:
            given.setdefault(names[0][place], []).append(place)
    return [pair for name, rows in given.items() for pair in _assign(rows, wanted[name], worth)]


def are_given(names: Names) -> bool:
    """Return whether each name has one call made and one wanted at most, so that there is no choice of pairs."""
    return all(len(set(own)) == len(own) for own in names)


def are_in_order(pairs: Pairs) -> bool:
    """Return whether the calls of the pairs stand in the same order on both sides."""
    wanted = [right for _, right in sorted(pairs)]
    return wanted == sorted(wanted)


def ordered_pairs(groups: Sequence[Sequence[int]], names: Names, worth: Worth) -> Pairs:
    """Return the best pairs where the order matters: calls of a group are made after those of the groups before it.

    The best have the most points and, among those, the most pairs. A recursion over (groups, calls made), as for the
    longest common subsequence; a group of several calls takes a stretch of the calls made.
    """
    count = len(names[0])
    best: list[Value] = [(0.0, 0)] * (count + 1)
    taken: list[list[Pairs]] = [[[] for _ in range(count + 1)]]
    for group in groups:
        step = _single if len(group) == 1 else _several
        best, pairs = step(group, names, worth, best)
        taken.append(pairs)
    return _walked_back(taken, count)


def _single(group: Sequence[int], names: Names, worth: Worth, before: list[Value]) -> tuple[list[Value], list[Pairs]]:
    right = group[0]
    best: list[Value] = [before[0]]
    pairs: list[Pairs] = [[]]
    for end in range(1, len(before)):
        choices: list[tuple[Value, Pairs]] = [(before[end], []), (best[end - 1], pairs[end - 1])]
        if names[0][end - 1] == names[1][right]:
            points, number = before[end - 1]
            choices.append(((points + worth(end - 1, right), number + 1), [(end - 1, right)]))
        chosen = max(choices, key=itemgetter(0))
        best.append(chosen[0])
        pairs.append(chosen[1])
    return best, pairs


def _several(group: Sequence[int], names: Names, worth: Worth, before: list[Value]) -> tuple[list[Value], list[Pairs]]:
    inside = {names[1][place] for place in group}
    places = [place for place, name in enumerate(names[0]) if name in inside]
    ends = {place + 1 for place in places}
    best: list[Value] = []
    pairs: list[Pairs] = []
    for end in range(len(before)):
        choices: list[tuple[Value, Pairs]] = [(before[end], [])]
        if end and end not in ends:
            # Nothing of the group ends here.
            choices.append((best[end - 1], pairs[end - 1]))
        else:
            choices += [
                _stretch(group, [place for place in places if start <= place < end], names, worth, before[start])
                for start in places
                if start < end
            ]
        chosen = max(choices, key=itemgetter(0))
        best.append(chosen[0])
        pairs.append(chosen[1])
    return best, pairs


def _stretch(
    group: Sequence[int], made: Sequence[int], names: Names, worth: Worth, before: Value
) -> tuple[Value, Pairs]:
    found = free_pairs(made, group, names, worth)
    return (before[0] + sum(worth(*pair) for pair in found), before[1] + len(found)), found


def _walked_back(taken: list[list[Pairs]], end: int) -> Pairs:
    """Return the pairs on the best way, which each group's stretch leads back along."""
    found: Pairs = []
    for pairs in reversed(taken):
        here = pairs[end]
        if here:
            found += here
            end = min(place for place, _ in here)
    return found


def _assign(rows: Sequence[int], columns: Sequence[int], worth: Worth) -> Pairs:
    if len(rows) == 1 and len(columns) == 1:
        return [(rows[0], columns[0])]
    if len(rows) <= SMALL and len(columns) <= SMALL:
        return _try_all(rows, columns, worth)
    from scipy.optimize import linear_sum_assignment

    table = [[worth(row, column) for column in columns] for row in rows]
    chosen = linear_sum_assignment(table, maximize=True)
    return [(rows[row], columns[column]) for row, column in zip(*chosen, strict=True)]


def _try_all(rows: Sequence[int], columns: Sequence[int], worth: Worth) -> Pairs:
    if len(rows) <= len(columns):
        choices = [list(zip(rows, chosen, strict=True)) for chosen in permutations(columns, len(rows))]
    else:
        choices = [list(zip(chosen, columns, strict=True)) for chosen in permutations(rows, len(columns))]
    return max(choices, key=lambda pairs: sum(worth(*pair) for pair in pairs))
