"""``bench plan-verify``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.vendor_rows import own_file

from trialbed_verify.cli.plan_verify import command


@pytest.fixture(autouse=True)
def _as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def planned(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_without_cases_it_says_how_many_are_needed() -> None:
    lines = planned("--flip-rate", "0.05", "--trials", "3").output.splitlines()
    assert lines[0] == "Cases for a verdict"
    assert lines[2].split() == ["flip", "rate", "baseline", "vendor", "cases", "requests", "different", "from"]
    assert lines[4].split() == ["0.05", "3", "trials", "3", "trials", "1,460", "8,760", "3.8", "%"]
    assert "is called equivalent with a chance of 90 %" in lines[6]
    found = json.loads(planned("--json").output)
    assert len(found["plans"]) == 12
    assert found["flip_rate_of"] is None


def test_the_flip_rate_is_that_of_a_baseline(tmp_path: Path) -> None:
    half = [["stop", "stop"], ["stop", "tool_calls"]] * 20
    file = str(own_file(tmp_path / "official.jsonl", half))
    found = json.loads(planned("--baseline", file, "--vendor-trials", "2", "--json").output)
    (plan,) = found["plans"]
    assert found["flip_rate_of"] == file
    assert plan["flip_rate"] == pytest.approx(0.5)
    assert plan["trials"] == {"baseline": 5, "vendor": 2}
    assert f"The flip rate is that of {file}." in planned("--baseline", file, "--vendor-trials", "2").output
    single = str(own_file(tmp_path / "single.jsonl", ["stop"] * 40))
    assert "has one trial per case, which tells no flip rate" in planned("--baseline", single).output
    assert "leave out --flip-rate" in planned("--baseline", file, "--flip-rate", "0").output


def test_a_trial_on_a_side_is_too_few_and_so_are_less_than_thirty_cases() -> None:
    assert "none: with one trial on a side" in planned("--flip-rate", "0", "--vendor-trials", "1").output
    few = planned("--flip-rate", "0", "--trials", "5", "--cases", "29").output
    assert few.startswith("What 29 cases can show\n")
    assert "With fewer than 30 cases there is no verdict, whatever the vendor does." in few
