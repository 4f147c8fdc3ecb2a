"""``bench plan``: power against the number of tasks or cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.vendor_rows import own_file
from support.written_documents import Write, write

from trialbed.cli import main

__all__ = ["write"]

Bench = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def documents(write: Write) -> Callable[..., list[str]]:
    """Writes result documents of setups that solved these tasks, and not the others."""

    def documents(**solved: Sequence[int]) -> list[str]:
        return [
            str(write(name, {query: {"sopr_score": float(value)} for query, value in enumerate(values)}))
            for name, values in solved.items()
        ]

    return documents


def plan_of(bench: Bench, *values: str) -> Any:
    code, out, _ = bench("plan", *values, "--json")
    assert code == 0
    return json.loads(out)


def test_a_clear_difference_takes_few_tasks_and_power_rises(bench: Bench, documents: Any) -> None:
    found = plan_of(bench, *documents(old=[1] * 30, new=[1] * 20 + [0] * 10))
    assert (found["unit"], found["target"]) == ("task", 0.8)
    (plan,) = found["plans"]
    assert (plan["baseline"], plan["candidate"], plan["score"], plan["pilot"]) == ("old", "new", "sopr_score", 30)
    assert 20 <= plan["enough"] <= 50
    power = [one["power"] for one in plan["power"]]
    assert [one["n"] for one in plan["power"]] == [10, 20, 50, 100, 200, 500, 1000]
    assert power == sorted(power)
    assert power[0] < 0.5 < power[2]
    assert plan["power"][-1]["verdicts"] == {"worse": 1.0}


def test_a_run_says_the_same_number_as_its_plan(bench: Bench, documents: Any) -> None:
    files = documents(old=[1] * 20, new=[1] * 18 + [0] * 2)
    (plan,) = plan_of(bench, *files)["plans"]
    assert f"about {plan['enough']} tasks would settle it" in bench("compare", *files)[1]


def test_vendors_need_cases(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_evaluation.plan.CASES", (10, 50, 200))
    ends = [["tool_calls"] * 3, ["stop"] * 3] * 30
    own_file(tmp_path / "official.jsonl", ends)
    own_file(tmp_path / "acme.jsonl", ends[:40] + [["stop"] * 3] * 20)
    found = plan_of(bench, "official.jsonl", "acme.jsonl")
    assert found["unit"] == "case"
    (plan,) = found["plans"]
    assert (plan["baseline"], plan["candidate"], plan["score"], plan["pilot"]) == ("official", "acme", None, 60)
    assert plan["power"][0]["verdicts"] == {"inconclusive": 1.0}
    assert plan["power"][-1]["verdicts"] == {"different": 1.0}
    assert 50 <= plan["enough"] <= 200


def test_what_cannot_be_planned_says_what_to_do(bench: Bench, documents: Any, tmp_path: Path) -> None:
    own_file(tmp_path / "official.jsonl", [["stop", "stop"]] * 40)
    one, other = documents(old=[1], new=[0])
    for values, words in (
        ((one,), "has one setup, and a plan compares two: name another run too"),
        ((one, one), "has the trials of"),
        ((one, other), "fewer than two tasks with a score in common; run both on the same tasks"),
        (("official.jsonl",), "has one vendor, and a plan compares two: name another verification or file too"),
        (("absent",), "there is no store"),
        ((), "Missing argument"),
    ):
        code, _, err = bench("plan", *values)
        assert code == 2, values
        assert words in err
