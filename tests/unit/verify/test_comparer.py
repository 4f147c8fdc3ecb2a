"""The comparer of vendors' files, as ``bench compare`` uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_file, own_row, write_rows

from trialbed.contracts import Comparison
from trialbed.errors import UsageError
from trialbed_verify.comparer import VendorComparer

GIVEN: dict[str, Any] = {
    "baselines": (),
    "vendors": (),
    "fail_under": (),
    "fail_if": None,
    "gate_margin": (),
    "page": None,
    "reply": None,
    "margin": None,
    "resamples": 50,
    "seed": 0,
    "force": False,
}
ENDS = [["tool_calls", "tool_calls"], ["stop", "stop"]] * 20


def compared(*files: Path, **given: Any) -> Comparison:
    return VendorComparer().compare([str(file) for file in files], {**GIVEN, **given})


def test_a_file_is_not_compared_with_itself(tmp_path: Path) -> None:
    file = own_file(tmp_path / "a.jsonl", ENDS)
    (tmp_path / "link.jsonl").symlink_to(file)
    for other in (file, tmp_path / "link.jsonl"):
        with pytest.raises(UsageError, match="a file is not compared with itself"):
            compared(file, other)
    with pytest.raises(UsageError, match="named twice as the baseline"):
        compared(baselines=(file, file), vendors=(own_file(tmp_path / "b.jsonl", ENDS),))


def test_a_vendor_that_sends_token_counts_as_text_is_compared_all_the_same(tmp_path: Path) -> None:
    usage = {"prompt_tokens": "69", "completion_tokens": "24", "total_tokens": None}
    rows = [
        own_row(number, trial=trial, completion_tokens=None, total_tokens=None, response={"usage": usage})
        for number in range(1, 41)
        for trial in range(2)
    ]
    vendor = write_rows(tmp_path / "vendor.jsonl", rows)
    document = compared(own_file(tmp_path / "base.jsonl", [["stop", "stop"]] * 40), vendor).document
    assert document["pairing"]["cases"] == 40
    assert document["figures"]["tps"]["vendor"] is not None


def test_it_makes_a_page_and_tests(tmp_path: Path) -> None:
    ends = [["stop", "stop"]] * 40
    found = compared(own_file(tmp_path / "base.jsonl", ENDS), own_file(tmp_path / "acme.jsonl", ends))
    assert found.page is not None
    assert "<title>m: acme compared with base: different " in found.page()
    outcomes = {test.name: test.outcome for test in found.tests}
    assert outcomes["decision"] == outcomes["verdict"] == "failure"
    assert outcomes["availability"] == "passed"
    assert "breaking" in outcomes
    assert "any" not in outcomes
    assert {test.classname for test in found.tests} == {"acme against base"}
