"""Fusion of rankings, and the best of a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

RANK_K = 10
"""The constant of Reciprocal Rank Fusion (Cormack, Clarke and Buettcher 2009), who used 60.

A small one trusts what one ranking puts first more than what both put in the middle.
"""


def fuse(rankings: Sequence[tuple[np.ndarray[Any, Any], float]]) -> np.ndarray[Any, Any]:
    """The weighted reciprocal ranks of several rankings, added up.

    Args:
        rankings: the scores of each and its weight. What scores minus infinity is not ranked, and gets nothing.
    """
    import numpy as np

    total = np.zeros(len(rankings[0][0]), dtype=np.float64)
    for scores, weight in rankings:
        order = np.argsort(-scores, kind="stable")
        order = order[np.isfinite(scores[order])]
        total[order] += weight / (RANK_K + np.arange(1, len(order) + 1))
    total[total == 0] = -np.inf
    return total


def best(scores: np.ndarray[Any, Any], count: int) -> list[int]:
    """The places of the best scores, best first; of equal ones the first first. Minus infinity is not ranked."""
    import numpy as np

    if count <= 0:
        return []
    # Most of a large catalog is not ranked; to look for the best among as many equal values takes long.
    places = np.flatnonzero(np.isfinite(scores))
    if len(places) > count:
        ranked = scores[places]
        places = places[ranked >= np.partition(ranked, len(ranked) - count)[len(ranked) - count]]
    order = places[np.argsort(-scores[places], kind="stable")]
    found: list[int] = order[:count].tolist()
    return found
