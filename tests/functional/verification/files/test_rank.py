"""``bench rank`` on tables and files, as a user runs it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from support.bench import Bench
from support.vendor_rows import own_file, own_summary

YES, NO = "tool_calls", "stop"
PUBLISHED = Path(__file__).parents[3] / "support" / "published_irf.csv"
SURE = [YES if random.Random(case).random() < 0.4 else NO for case in range(240)]


def test_a_table_is_printed_with_ranks(bench: Bench) -> None:
    printed = bench("rank", PUBLISHED).out
    assert re.search(r"kimi-k2: ranked over six metrics\n\nvendor +rank +IRF", printed)
    assert re.search(r"siliconflow +1 +0\.9158 +1\.0000", printed)
    assert "Ranks from a table have no intervals" in printed


def test_a_ranking_written_as_csv_can_be_ranked_again(bench: Bench, tmp_path: Path) -> None:
    first = bench("rank", PUBLISHED, "--json").document
    (tmp_path / "ranks.csv").write_text(bench("rank", PUBLISHED, "--format", "csv").out)
    again = bench("rank", tmp_path / "ranks.csv", "--json").document
    assert again == first
    printed = bench("rank", PUBLISHED, "--format", "markdown").out
    assert printed.startswith("## claude-haiku-4.5: ranked over six metrics")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A baseline, a good vendor, one that never answers, one that does the opposite, one in a hurry."""
    turned = [NO if end == YES else YES for end in SURE]
    return [
        own_file(tmp_path / "official.jsonl", [[end] * 3 for end in SURE]),
        own_file(tmp_path / "good.jsonl", SURE, ttft_ms=200.0),
        own_file(tmp_path / "dead.jsonl", ["transport_error"] * len(SURE)),
        own_file(tmp_path / "inverted.jsonl", turned, ttft_ms=1.0, tps=999.0, total_tokens=10),
    ]


def test_a_dead_vendor_ranks_nowhere_and_an_inverted_one_last(bench: Bench, files: list[Path]) -> None:
    ran = bench("rank", *files, "--baseline", "official", "--json")
    (standing,) = ran.document["models"]
    assert [(row["vendor"], row["rank"]) for row in standing["ranked"]] == [("good", 1), ("official", 2)]
    assert [(row["vendor"], row["rank"]) for row in standing["behind"]] == [("inverted", 3)]
    assert [row["vendor"] for row in standing["not_ranked"]] == ["dead"]
    printed = bench("rank", *files, "--baseline", "official").out
    assert re.search(r"^inverted \(different\) +3 last +- +-", printed, re.MULTILINE)
    assert re.search(r"^dead \(different\) +- +- +-", printed, re.MULTILINE)
    assert re.search(r"^official\* +2 +\d-2", printed, re.MULTILINE)


def test_the_baseline_of_a_configuration_is_known(bench: Bench, tmp_path: Path) -> None:
    for name in ("official", "acme"):
        path = own_file(tmp_path / f"m_{name}_results.jsonl", SURE, vendor=name)
        own_summary(path, is_baseline=name == "official")
    (standing,) = bench("rank", *sorted(tmp_path.glob("*_results.jsonl")), "--json").document["models"]
    assert standing["baseline"] == "official"
    assert [(row["vendor"], row["rank"], row["tie"]) for row in standing["ranked"]] == [
        ("acme", 1, True),
        ("official", 1, True),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument"),
        (("absent.csv",), "absent.csv: cannot be read"),
        (("a.csv", "b.jsonl"), "a.csv is a table; rank it alone"),
        ((str(PUBLISHED), "--baseline", "acme"), "apply to result files only"),
    ],
)
def test_wrong_use_is_exit_code_2(bench: Bench, arguments: tuple[str, ...], said: str) -> None:
    assert said in bench("rank", *arguments, code=2).err
