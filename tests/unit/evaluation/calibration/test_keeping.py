from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.contracts import Judge, Verdict
from trialbed.errors import DataError, JudgeError, NothingMeasured
from trialbed.records import Answer, Query, WireLog
from trialbed.scoring import calibration_of, judge_identity
from trialbed_evaluation.calibration import calibrate, embedded_cases, keep_calibration
from trialbed_evaluation.judges.rule import RuleJudge


class Stubborn(Judge):
    """Finds everything Unsolved, and does not read some cases."""

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        if "e" in answer.final_answer:
            raise JudgeError("I cannot read an e")
        return Verdict(status="Unsolved", value=0.0, reason="no", votes=("Unsolved",))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))


async def test_the_rule_judge_agrees_with_most_labels() -> None:
    measured, findings = await calibrate(RuleJudge(), embedded_cases())
    assert measured.accuracy > 0.85
    assert measured.kappa is not None
    assert measured.kappa > 0.7
    assert len(findings) == measured.cases


async def test_a_judge_without_any_verdict_is_not_calibrated() -> None:
    class Silent(Judge):
        async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
            raise ValueError("broken")

    with pytest.raises(NothingMeasured, match="ValueError: broken"):
        await calibrate(Silent(), embedded_cases()[:3])


async def test_a_calibration_is_kept_for_its_judge_only(tmp_path: Path) -> None:
    mine, other = judge_identity("llm", "a", {"prompt": "1"}), judge_identity("llm", "a", {"prompt": "2"})
    assert calibration_of(Stubborn(), mine) is None
    measured, _ = await calibrate(RuleJudge(), embedded_cases(), "mine.jsonl")
    keep_calibration(mine, measured)
    found = calibration_of(Stubborn(), mine)
    assert found is not None
    assert (found["labels"], found["accuracy"]) == ("mine.jsonl", measured.accuracy)
    assert calibration_of(Stubborn(), other) is None
    (tmp_path / "state" / "calibrations.json").write_text("{")
    assert calibration_of(Stubborn(), mine) is None


async def test_the_figures_that_come_with_the_rule_judge_are_those_that_measuring_gives() -> None:
    measured, _ = await calibrate(RuleJudge(votes=3), embedded_cases())
    assert calibration_of(RuleJudge(votes=3), "none kept") == measured.model_dump() | {"at": ""}


async def test_a_calibration_over_few_cases_replaces_none(tmp_path: Path) -> None:
    large, _ = await calibrate(RuleJudge(), embedded_cases())
    small, _ = await calibrate(RuleJudge(), embedded_cases()[:3], "mine.jsonl")
    keep_calibration("judge", large)
    with pytest.raises(DataError, match="has 30 cases with a verdict, not 3"):
        keep_calibration("judge", small)
    found = calibration_of(Stubborn(), "judge")
    assert found is not None
    assert found["labels"] == "embedded"
    # One that an earlier version kept is not named either.
    (tmp_path / "state" / "calibrations.json").write_text(json.dumps({"judge": small.model_dump()}))
    assert calibration_of(Stubborn(), "judge") is None
