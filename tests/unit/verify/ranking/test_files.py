from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import k2_row, own_file, own_row, own_summary, write_rows

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


def test_a_dead_vendor_ranks_nowhere_and_an_inverted_one_last(file: MakeFile) -> None:
    found = ranked(
        file("official", trials=3),
        file("faithful"),
        file("dead", failing=1.0),
        file("inverted", chances=[1 - chance for chance in CHANCES], ttft_ms=20.0, tps=900.0, total_tokens=30),
    )
    assert set(by_vendor(found)) == {"official", "faithful"}
    assert set(by_vendor(found, "not_ranked")) == {"dead"}
    last = by_vendor(found, "behind")["inverted"]
    assert last["rank"] == 3
    assert "not shown to be better than chance" in last["reasons"][0]


@pytest.mark.parametrize("kind", ["always", "never", "coin"])
def test_decisions_that_have_nothing_to_do_with_the_baselines_come_last(file: MakeFile, kind: str) -> None:
    chances = {"always": [1.0], "never": [0.0], "coin": [0.5]}[kind] * CASES
    found = ranked(file("official"), file("faithful"), file(kind, chances=chances, tps=900.0))
    assert set(by_vendor(found)) == {"official", "faithful"}
    assert kind in {**by_vendor(found, "behind"), **by_vendor(found, "not_ranked")}


def test_a_vendor_that_only_runs_into_its_limit_is_not_ranked(file: MakeFile, tmp_path: Path) -> None:
    cut = str(own_file(tmp_path / "cut.jsonl", ["other"] * CASES))
    found = ranked(file("official"), file("faithful"), cut)
    assert by_vendor(found, "not_ranked")["cut"]["reasons"] == ["no figure for schema"]


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


def test_a_baseline_that_answers_nothing_has_no_f1_to_be_had_by_convention(file: MakeFile) -> None:
    dead = by_vendor(ranked(file("official", failing=1.0), file("faithful")), "not_ranked")["official"]
    assert (dead["metrics"]["f1"]["value"], dead["notes"]) == (None, [])
    assert dead["reasons"][0].startswith("no figure for F1, ")


def test_a_failure_is_a_missed_call(file: MakeFile) -> None:
    sure = [float(chance > 0.5) for chance in CHANCES]
    found = ranked(file("official", chances=sure), file("failing", chances=sure, failing=0.08))
    # What it fails at is one of the things that callers rely on.
    metrics = by_vendor(found, "behind")["failing"]["metrics"]
    calls = sum(sure)
    assert metrics["success_rate"]["value"] == pytest.approx(0.92, abs=0.04)
    assert metrics["f1"]["value"] < 0.99
    missed = calls * 2 * (1 - metrics["f1"]["value"]) / (2 - metrics["f1"]["value"])
    assert missed == pytest.approx(round(missed), abs=1e-9), "F1 follows from a whole number of missed calls"


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


def test_vendors_that_the_data_cannot_tell_apart_tie(file: MakeFile) -> None:
    rows = by_vendor(ranked(file("official", trials=3), file("one"), file("other")))
    assert ["m", "other"] in rows["one"]["tied_with"]
    assert ["m", "one"] in rows["other"]["tied_with"]


def test_the_same_seed_gives_the_same_ranking(file: MakeFile) -> None:
    files = file("official", trials=3), file("one"), file("other")
    assert ranked(*files) == ranked(*files)


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


def test_a_file_that_lacks_cases_is_ranked_by_the_common_ones_when_forced(file: MakeFile, tmp_path: Path) -> None:
    sure = [YES if chance > 0.5 else NO for chance in CHANCES[:200]]
    short = str(own_file(tmp_path / "short.jsonl", sure))
    rows = by_vendor(ranked(file("official"), file("one"), short, force=True))
    assert {row["metrics"]["success_rate"]["n"] for row in rows.values()} == {200}
    assert set(rows) == {"official", "one", "short"}


def test_files_of_other_requests_or_settings_are_refused(file: MakeFile, tmp_path: Path) -> None:
    longer = str(own_file(tmp_path / "longer.jsonl", [YES, NO] * 160))
    with pytest.raises(UsageError, match=r"official\.jsonl lacks 20 rows"):
        ranked(file("official"), longer)
    other = str(own_file(tmp_path / "other.jsonl", [YES, NO] * 150, extra_body={"temperature": 1.0}))
    with pytest.raises(UsageError, match=r"temperature is absent in the baseline and 1\.0 in the vendor's"):
        ranked(file("official"), other)


def test_names_can_be_given_to_files_and_models(tmp_path: Path) -> None:
    rows = {name: [k2_row(n, YES if n % 2 else NO, valid=True) for n in range(1, 9)] for name in ("a", "b")}
    for own in rows["b"]:
        own["request"] = own["request"] | {"model": "another/m"}
    paths = [str(write_rows(tmp_path / f"{name}.jsonl", own)) for name, own in rows.items()]
    with pytest.raises(UsageError, match=r"no baselines, .*give all files one name with --model"):
        candidates(read_sources(paths), ("a",))
    named = [f"official={paths[0]}", f"acme={paths[1]}"]
    found = candidates(read_sources(named), ("official",), model="m")
    assert [one.name for one in found] == [("m", "official"), ("m", "acme")]


def test_vendors_of_one_name_are_told_apart_and_no_file_counts_twice(tmp_path: Path) -> None:
    paths = [str(own_file(tmp_path / name, [YES, NO] * 4, vendor="a")) for name in ("x.jsonl", "y.jsonl")]
    found = candidates(read_sources(paths), ("a",))
    assert [one.vendor for one in found] == ["a", f"a ({paths[1]})"]
    with pytest.raises(UsageError, match=r"x\.jsonl: has results of m at a twice"):
        candidates(read_sources([paths[0], paths[0]]), ("a",))


def test_one_file_may_hold_several_vendors(tmp_path: Path) -> None:
    rows = [own_row(n, YES if n % 2 else NO, vendor=vendor) for vendor in ("a", "b") for n in range(1, 9)]
    found = candidates(read_sources([str(write_rows(tmp_path / "all.jsonl", rows))]), ("a",))
    assert [one.vendor for one in found] == ["a", "b"]


def test_the_baseline_is_known_from_the_summaries(tmp_path: Path) -> None:
    for name, marked in (("a", False), ("b", True)):
        own_summary(own_file(tmp_path / f"m_{name}_results.jsonl", [YES, NO], vendor=name), is_baseline=marked)
    own_file(tmp_path / "m_c_results.jsonl", [YES, NO], vendor="c")
    sources = read_sources(str(path) for path in sorted(tmp_path.glob("*_results.jsonl")))
    assert [one.vendor for one in candidates(sources) if one.is_baseline] == ["b"]
