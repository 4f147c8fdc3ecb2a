"""``bench compare`` on files, as a user runs it."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from support.bench import Bench
from support.vendor_rows import own_file, request

YES, NO = "tool_calls", "stop"


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """A baseline of three trials that are not quite of one mind."""
    die = random.Random(1)
    return own_file(tmp_path / "official.jsonl", [[_end(die, case) for _ in range(3)] for case in range(200)])


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    die = random.Random(2)
    ends = [_end(die, case) for case in range(200)]
    ends[0], ends[1], ends[2] = "timeout", "protocol_error", "other"
    return own_file(tmp_path / "acme.jsonl", ends)


def _end(die: random.Random, case: int) -> str:
    return YES if die.random() < (0.95 if case % 2 else 0.05) else NO


def test_a_comparison_is_printed_with_its_verdict_and_figures(bench: Bench, official: Path, acme: Path) -> None:
    printed = bench("compare", "--baseline", official, "--vendor", acme).out
    assert printed.startswith("acme compared with official: ")
    assert "200 cases, paired by case" in printed
    for words in ("flip rate", "F1 of chance", "schema, per call", "TTFT, ms, p50/p95/p99"):
        assert words in printed
    assert "acme failed: 2 cut_stream." in printed
    assert "acme ended otherwise: 1 length." in printed


def test_json_holds_the_k2_style_keys_and_ours(bench: Bench, official: Path, acme: Path, tmp_path: Path) -> None:
    document = bench("compare", official, acme, "--json").document
    assert bench("compare", official, acme, "--json", "--output", tmp_path / "written.json").out == ""
    assert document == json.loads((tmp_path / "written.json").read_text())
    assert document["total_vendor"] == 200
    assert document["matched_success"] == 198
    assert set(document["tool_call_trigger_similarity"]) == {"TP", "FP", "FN", "TN", "precision", "recall", "f1"}
    assert document["similarity"]["delivered"]["f1"]["low"] < document["similarity"]["delivered"]["f1"]["value"]


def test_markdown_and_csv_are_printed(bench: Bench, official: Path, acme: Path) -> None:
    report = bench("compare", official, acme, "--format", "markdown").out
    assert report.startswith("## acme compared with official")
    assert "| --- | ---: | ---: |" in report
    figures = bench("compare", official, acme, "--format", "csv").out
    rows = {(row["side"], row["figure"]): row for row in csv.DictReader(figures.splitlines())}
    document = bench("compare", official, acme, "--json").document
    assert float(rows["delivered", "f1"]["value"]) == document["similarity"]["delivered"]["f1"]["value"]
    assert rows["vendor", "duration_ms_p99"]["high"] == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fail-under", "f1=0.99"), "acme: f1 is 0."),
        (("--fail-under", "success_rate=0.999"), "acme: success_rate is 0.9900, below 0.999"),
        (("--fail-if", "not-equivalent"), "acme: the verdict is"),
    ],
)
def test_a_check_that_fails_is_exit_code_1(
    bench: Bench, official: Path, acme: Path, options: tuple[str, ...], said: str
) -> None:
    failed = bench("compare", official, acme, *options, code=1)
    assert said in failed.err
    assert failed.out.startswith("acme compared with official")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            (),
            "name two or more of a kind: runs (ids, latest, or result documents of bench run) or verifications (ids, ",
        ),
        (("official.jsonl",), "name the results of a baseline and of a vendor"),
        (("official.jsonl", "acme.jsonl", "--vendor", "acme.jsonl"), "not both"),
        (("official.jsonl", "other.jsonl"), "other.jsonl: no such file, and not the id of a run"),
        (("official.jsonl", "20261121T231039-52d790"), "20261121T231039-52d790 about runs"),
        (("--baseline", "official.jsonl", "--vendor", "other.jsonl"), "other.jsonl: no such file"),
        (("--baseline", "official.jsonl", "--vendor", "run.json"), "run.json, line 1: not JSON"),
        (("official.jsonl", "run.json"), "compare things of one kind"),
        (("run.json", "run.json", "--vendor", "acme.jsonl"), "--vendor about verifications"),
        (("README.txt",), "README.txt: cannot be compared; what can be compared: runs"),
        (("official.jsonl", "set.jsonl"), "set.jsonl, line 1: not a result row"),
        (("official.jsonl", "acme.jsonl", "--fail-under", "beauty=1"), "unknown figure 'beauty'; choose from f1,"),
    ],
)
def test_wrong_use_is_exit_code_2_and_says_what_to_do(
    bench: Bench, official: Path, acme: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"metadata": {}, "summary": {}, "results": []}, indent=2))
    (tmp_path / "README.txt").write_text("words")
    (tmp_path / "set.jsonl").write_text(json.dumps(request(1)) + "\n")
    assert said in bench("compare", *arguments, code=2).err
