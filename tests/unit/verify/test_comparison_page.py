"""The page of a comparison: what it says of each vendor, in which order, and as nothing but text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_row, write_rows

from trialbed.views import html_page
from trialbed_verify.compare import compare
from trialbed_verify.pages import vendor_page
from trialbed_verify.rows import FileRows
from trialbed_verify.table import read_one

Document = dict[str, Any]

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


def parts(files: list[Path], change: Callable[[Document], Document] = lambda one: one) -> list[Any]:
    baseline, *vendors = (read_one(FileRows(path)) for path in files)
    found = tuple(map(change, compare(baseline, vendors, resamples=100)))
    summarised = [read_one(FileRows(path), compared=False) for path in files]
    model = {"model": "m", "baseline": baseline.vendor, "comparisons": found, "notes": ()}
    return list(vendor_page(summarised, {"models": [model], "ranking": None}))


def page(files: list[Path]) -> str:
    return html_page("Compared", parts(files))


def test_the_page_has_the_conclusion_and_an_example_of_what_differs(files: list[Path]) -> None:
    text = page(files)
    assert '<p class="lead">bargain compared with official: different; of 1,000 of its answers ' in text
    assert "Examples of what differs at bargain" in text
    assert "<details>" in text
    assert str(files[0].parent) not in text, "paths of this machine are nobody else's business"


def test_a_verdict_that_lacks_cases_says_how_many_once(tmp_path: Path) -> None:
    files = [results(tmp_path / f"{name}.jsonl", "The answer is", cases=20) for name in ("official", "alike")]
    text = page(files)
    assert "20 cases are too few for a verdict" in text
    assert text.count(" would do") == 1


def test_nothing_that_a_vendor_says_is_more_than_text(files: list[Path]) -> None:
    text = page(files)
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "<img" not in text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
