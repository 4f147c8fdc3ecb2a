from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.vendor_rows import own_row, write_rows
from support.verification import target, verify, written_set

from trialbed.errors import UsageError
from trialbed_scripted import serve
from trialbed_verify.comparison import CompareOptions, compare, read_one
from trialbed_verify.publication import (
    comparison_parts,
    different_first,
    read_source,
    verify_command,
)
from trialbed_verify.publication import page as published_page
from trialbed_verify.vendor_rows import FileRows

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'
CASES = 60


def results(path: Path, text: str, *, cases: int = CASES, **more: Any) -> Path:
    rows = []
    for number in range(1, cases + 1):
        for trial in range(3):
            identity = f"{path.stem}-{number}-{trial}"
            message = {"role": "assistant", "content": f"{text} {number}"}
            response = {"id": identity, "model": "m-id", "choices": [{"index": 0, "message": message}]}
            vendor = {"vendor": path.stem, "config": path.stem, "response": response}
            rows.append(own_row(number, "stop", trial=trial, **vendor, **more))
    return write_rows(path, rows)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        results(tmp_path / "official.jsonl", "The answer is"),
        results(tmp_path / "bargain.jsonl", f"{EVIL}<|im_end|>"),
    ]


def page(files: list[Path], reply: Path | None = None) -> str:
    rows = list(map(FileRows, files))
    baseline, vendor = map(read_one, rows)
    return published_page(compare(baseline, [vendor], CompareOptions(resamples=100)), rows, reply).html()


def test_the_page_has_the_verdict_its_examples_and_what_proves_them(files: list[Path]) -> None:
    text = page(files)
    assert "<title>m: bargain compared with official: different " in text
    assert '<p class="lead">bargain differs from official: ' in text
    assert "leaked tokens and broken encoding" in text
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert "bench compare --baseline official.jsonl --vendor bargain.jsonl" in text
    assert "<details>" in text
    assert "None had been received" in text
    assert str(files[0].parent) not in text, "paths of this machine are nobody else's business"


def test_the_page_gives_the_reason_of_a_verdict_once(files: list[Path]) -> None:
    text = page(files)
    assert text.count("would break a caller, beyond the baseline&#39;s own spread") == 1
    assert "is shown to exceed the margin" not in text, "all differ for one reason, which the plot shows"


def test_a_verdict_that_lacks_cases_says_how_many_once(tmp_path: Path) -> None:
    files = [results(tmp_path / f"{name}.jsonl", "The answer is", cases=20) for name in ("official", "alike")]
    text = page(files)
    assert "20 cases are too few for a verdict" in text
    assert "would do" not in text


def test_a_vendor_that_differs_is_said_to_be_off_by_how_much_and_what_is_not_settled(files: list[Path]) -> None:
    baseline, vendor = (read_one(FileRows(path)) for path in files)
    comparison = compare(baseline, [vendor], CompareOptions(resamples=100))[0]
    gates = tuple(
        replace(one, finding="inconclusive") if one.finding == "equivalent" else one for one in comparison.panel.gates
    )
    parts = comparison_parts(replace(comparison, panel=replace(comparison.panel, gates=gates)))
    beyond, open_ones, *_ = next(parts).notes
    assert beyond.startswith("Shown to lie beyond the margin (figures in margins): answers that break a caller +")
    assert open_ones.startswith("Not settled, the farthest first: whether tools are called, finish reasons, ")


def test_vendors_that_differ_come_before_others() -> None:
    ends = ("inconclusive", "different", "equivalent", "different")
    found: Any = [SimpleNamespace(panel=SimpleNamespace(finding=end), place=place) for place, end in enumerate(ends)]
    assert [one.place for one in different_first(found)] == [1, 3, 0, 2]


def test_a_page_of_several_vendors_names_them_and_says_once_of_which_origin_all_are(tmp_path: Path) -> None:
    files = [results(tmp_path / f"{name}.jsonl", "The answer is", cases=20) for name in ("official", "acme", "bargain")]
    rows = list(map(FileRows, files))
    baseline, *vendors = map(read_one, rows)
    made = published_page(compare(baseline, vendors, CompareOptions(resamples=100)), rows)
    assert made.title == "m: acme and bargain compared with official"
    assert "The same for all: model m; " in made.html()


def test_nothing_that_a_vendor_says_is_more_than_text(files: list[Path], tmp_path: Path) -> None:
    reply = tmp_path / "reply.txt"
    reply.write_text(f"We object. {EVIL}\nSecond line.")
    text = page(files, reply)
    assert "<script" not in text
    assert "<img" not in text
    assert "We object. &lt;script&gt;" in text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text


def test_the_page_says_which_gates_it_does_not_draw(tmp_path: Path) -> None:
    files = [results(tmp_path / f"{name}.jsonl", "The answer is", cases=500) for name in ("official", "alike")]
    assert "Shown to lie within the margin, and not drawn: form and language of texts" in page(files)


def test_a_reply_that_cannot_be_read_is_named(files: list[Path]) -> None:
    with pytest.raises(UsageError, match=r"--reply .*none\.txt: cannot be read"):
        published_page([], list(map(FileRows, files)), files[0].with_name("none.txt"))


def test_without_a_baseline_the_page_says_so(files: list[Path]) -> None:
    assert "no baseline among these vendors" in published_page([], list(map(FileRows, files))).html()


async def test_the_command_that_made_results_is_told_by_their_summary(tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 2)
    async with serve(faults="none") as server:
        await verify(file, target(server.url, tmp_path, temperature=0.5, extra_body={"top_p": 0.9}), trials=2)
    command = verify_command(read_source(FileRows(tmp_path / "results.jsonl")))
    assert command.startswith(f"bench verify set.jsonl --model m --base-url {server.url} --trials 2")
    assert "--temperature 0.5 --extra-body '{\"top_p\": 0.9}' --output results.jsonl" in command
    (tmp_path / "summary.json").write_text(json.dumps({"provenance": {"configuration_digest": "another"}}))
    assert "has no summary" in verify_command(read_source(FileRows(tmp_path / "results.jsonl")))


def test_a_vendor_that_could_not_be_compared_is_named(files: list[Path]) -> None:
    text = published_page([], list(map(FileRows, files)), notes=["acme is left out: it has no rows"]).html()
    assert "Acme is left out: it has no rows." in text
    assert "no baseline among these vendors" not in text
