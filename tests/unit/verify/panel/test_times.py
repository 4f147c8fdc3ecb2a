"""The times of answers are a gate where a vendor is compared with itself under load."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from support.cases import for_each
from support.played_vendors import Row, Sides, judged, measured, rows


def timed(seed: int, factor: float) -> Iterator[Row]:
    """Answers that take this many times as long as usual; each case has its own usual time, and each answer varies."""
    random = np.random.default_rng(seed)
    for row in rows(400, 3, seed, flips=0.0):
        usual = 200.0 + 50 * row["data_index"]
        yield {**row, "duration_ms": factor * usual * float(random.lognormal(0, 0.3))}


@cache
def side(seed: int, factor: float) -> Sides:
    return measured(timed(seed, factor))


@for_each(
    ("factor", "finding", "says"),
    [
        (0.4, "equivalent", "they take 0.4"),
        (1.5, "equivalent", "they take 1.49 [1.46, 1.52] times as long"),
        (3.0, "different", "they take "),
    ],
)
def test_more_than_twice_as_long_is_another_service(factor: float, finding: str, says: str) -> None:
    usual, loaded = side(1, 1.0), side(2, factor)
    panel = judged(usual, loaded, times=True, permutations=99)
    (time,) = [result for result in panel.gates if result.gate.name == "time"]
    assert time.finding == finding, panel.reason
    assert ("time" in panel.different) == (finding == "different")
    assert says in panel.reason
    assert "times as long" in panel.reason
    # Two vendors are in two places.
    assert "time" not in {result.gate.name for result in judged(usual, loaded, permutations=9).gates}
