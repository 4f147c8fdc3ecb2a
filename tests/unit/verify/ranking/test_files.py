from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_file

from trialbed.errors import UsageError
from trialbed_verify.ranking import candidates, rank
from trialbed_verify.rows import FileRows
from trialbed_verify.table import Answers, read_tables

YES, NO = "tool_calls", "stop"
CASES = 300
CHANCES = [random.Random(case).betavariate(0.35, 0.4) for case in range(CASES)]

MakeFile = Callable[..., str]


READ: dict[tuple[str, str, bytes], list[Answers]] = {}
"""Name, file and its content -> results: most tests rank the same vendors, and reading a file takes longest."""


def read_sources(sources: Iterable[str]) -> list[Answers]:
    found = []
    for source in sources:
        name, _, path = source.rpartition("=")
        key = (name, Path(path).name, Path(path).read_bytes())
        if key not in READ:
            READ[key] = [replace(one, vendor=name or one.vendor) for one in read_tables(FileRows(Path(path)))]
        found += READ[key]
    return found


@pytest.fixture
def file(tmp_path: Path) -> MakeFile:
    """Writes the results of a vendor that decides by chance per case, and is as fast as told."""

    def make(
        name: str, *, chances: Sequence[float] = CHANCES, trials: int = 1, failing: float = 0.0, **figures: Any
    ) -> str:
        die = random.Random(name)
        ends = [[_end(die, chance, failing) for _ in range(trials)] for chance in chances]
        return str(own_file(tmp_path / f"{name}.jsonl", ends, **figures))

    return make


def _end(die: random.Random, chance: float, failing: float) -> str:
    if die.random() < failing:
        return "timeout"
    return YES if die.random() < chance else NO


def ranked(*files: str, baseline: str = "official", **options: Any) -> dict[str, Any]:
    found = candidates(read_sources(files), (baseline,), **options)
    (standing,) = rank(found).as_json()["models"]
    return dict(standing)


def by_vendor(standing: dict[str, Any], status: str = "ranked") -> dict[str, dict[str, Any]]:
    return {row["vendor"]: row for row in standing[status]}


@pytest.mark.parametrize("kind", ["always", "never", "coin"])
def test_decisions_that_have_nothing_to_do_with_the_baselines_come_last(file: MakeFile, kind: str) -> None:
    chances = {"always": [1.0], "never": [0.0], "coin": [0.5]}[kind] * CASES
    found = ranked(file("official"), file("faithful"), file(kind, chances=chances, tps=900.0))
    assert set(by_vendor(found)) == {"official", "faithful"}
    assert kind in {**by_vendor(found, "behind"), **by_vendor(found, "not_ranked")}


def test_a_vendor_that_breaks_the_protocol_is_not_ranked(file: MakeFile, tmp_path: Path) -> None:
    ends = ["protocol_error" if number % 12 == 0 else YES if CHANCES[number] > 0.5 else NO for number in range(CASES)]
    found = ranked(file("official"), str(own_file(tmp_path / "broken.jsonl", ends)))
    assert by_vendor(found, "not_ranked")["broken"]["reasons"] == [
        "8.3 % of its answers break the protocol, more than 5.0 %"
    ]


def test_the_baselines_f1_is_its_own_or_one_by_convention(file: MakeFile) -> None:
    once = by_vendor(ranked(file("official"), file("faithful")))["official"]
    assert once["metrics"]["f1"]["value"] == 1.0
    assert "by convention" in once["notes"][0]
    often = by_vendor(ranked(file("official", trials=5), file("faithful")))["official"]
    assert 0.7 < often["metrics"]["f1"]["value"] < 0.85
    assert "own trials" in often["notes"][0]


def test_metrics_have_intervals_and_ranks_too(file: MakeFile) -> None:
    found = ranked(
        file("official", trials=3), file("fast", ttft_ms=100.0, tps=90.0), file("slow", ttft_ms=900.0, tps=9.0)
    )
    rows = by_vendor(found)
    assert rows["fast"]["metrics"]["f1"]["low"] < rows["fast"]["metrics"]["f1"]["value"]
    for row in rows.values():
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    assert rows["fast"]["rank_high"] < rows["slow"]["rank_low"]
    assert ["m", "slow"] not in rows["fast"]["tied_with"]


def test_every_model_needs_one_baseline(file: MakeFile) -> None:
    files = file("official"), file("one")
    with pytest.raises(UsageError, match=r"m has no baseline.* name one of official, one with --baseline"):
        candidates(read_sources(files), ())
    with pytest.raises(UsageError, match=r"m has 2 baselines.* name one of official, one with --baseline"):
        candidates(read_sources(files), ("official", "one"))


def test_a_file_that_lacks_cases_is_not_ranked_and_costs_nobody_else_any(file: MakeFile, tmp_path: Path) -> None:
    """As a vendor leaves it that was given up after its first failures."""
    short = str(own_file(tmp_path / "short.jsonl", [YES, NO] * 100))
    found = ranked(file("official"), file("one"), short)
    assert by_vendor(found)["one"]["metrics"]["success_rate"]["n"] == CASES
    assert by_vendor(found, "not_ranked")["short"]["reasons"] == ["short.jsonl lacks 100 of the baseline's rows"]


def test_vendors_of_one_name_are_told_apart_and_no_file_counts_twice(tmp_path: Path) -> None:
    paths = [str(own_file(tmp_path / name, [YES, NO] * 4, vendor="a")) for name in ("x.jsonl", "y.jsonl")]
    found = candidates(read_sources(paths), ("a",))
    assert [one.vendor for one in found] == ["a", f"a ({paths[1]})"]
    with pytest.raises(UsageError, match=r"x\.jsonl: has results of m at a twice"):
        candidates(read_sources([paths[0], paths[0]]), ("a",))
