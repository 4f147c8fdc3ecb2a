"""The comparer of vendors' files, as ``bench compare`` uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.vendor_rows import own_file, own_row, write_rows

from trialbed.cli import main
from trialbed.contracts import Comparison
from trialbed.errors import UsageError
from trialbed_verify.comparer import VendorComparer

GIVEN: dict[str, Any] = {
    "baselines": (),
    "vendors": (),
    "fail_under": (),
    "fail_if": None,
    "gate_margin": (),
    "reply": None,
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


def test_a_gate_has_the_margin_that_is_given(tmp_path: Path) -> None:
    files = own_file(tmp_path / "base.jsonl", ENDS), own_file(tmp_path / "acme.jsonl", ENDS)

    def decision(**given: Any) -> tuple[str, ...]:
        rows = [row for table in compared(*files, **given).tables for row in table.lines]
        return next(row for row in rows if "decision" in row[0].split(", "))

    # That of its distance, which decides, is half of the gate's.
    assert "0.01" in decision()
    assert "0.2" in decision(gate_margin=("decision=0.4",))
    for given, said in (("beauty=0.1", "unknown gate 'beauty'"), ("decision=1", "must lie between 0 and 1")):
        with pytest.raises(UsageError, match=said):
            compared(*files, gate_margin=(given,))


def test_a_baseline_of_one_trial_is_said_to_be_that(tmp_path: Path) -> None:
    one = [["tool_calls"], ["stop"]] * 20
    found = compared(own_file(tmp_path / "base.jsonl", one), own_file(tmp_path / "acme.jsonl", one))
    notes = [note for table in found.tables for note in table.notes]
    assert "The baseline has one trial per case, so its self-consistency is unknown." in notes
    (line,) = compared(own_file(tmp_path / "base.jsonl", one), tmp_path / "acme.jsonl", fail_if="not-equivalent").failed
    assert line.startswith("acme: the verdict is not decided by one trial: decisions differ in 0 of ")
    assert line.endswith("how much the baseline differs from itself is not known: run it twice to decide")


def test_other_models_are_named_before_the_verdict(tmp_path: Path) -> None:
    paths = []
    for name, model in (("base", "deepseek-reasoner"), ("acme", "deepseek-v3.2-exp"), ("alike", "a/Deepseek-Reasoner")):
        rows = [own_row(number, "tool_calls", vendor=name, config=name) for number in range(1, 25)]
        paths.append(
            write_rows(
                tmp_path / f"{name}.jsonl", [row | {"request": row["request"] | {"model": model}} for row in rows]
            )
        )
    other, alike = (compared(paths[0], path) for path in paths[1:])
    words = "the requests ask for other models (deepseek-reasoner, deepseek-v3.2-exp)"
    panel = other.document["panel"]
    assert panel["reason"].startswith(f"{words}; ")
    assert [(one["finding"], one["reason"]) for one in panel["gates"] if one["gate"] == "model"] == [
        ("not applicable", words)
    ]
    assert other.page is not None
    assert f"; {words}." in other.page().partition("</p>")[0]
    assert any(note.lower().startswith(f"{words}; 24 cases are too few") for note in other.tables[0].notes)
    (line,) = compared(paths[0], paths[1], fail_if="not-equivalent").failed
    assert line.startswith(f"acme: the verdict is not decided by one trial: {words}; ")
    assert "ask for other models" not in alike.document["panel"]["reason"]


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Verdict -> the files of a baseline and of a vendor that get it; ``few`` has gates that differ, and no verdict."""
    calls, stops = ["tool_calls"] * 2, ["stop"] * 2
    ends = {
        "equivalent": ([calls, stops] * 150, [calls, stops] * 150),
        "different": ([calls, stops] * 20, [stops] * 40),
        "inconclusive": ([calls, stops] * 20, [calls, stops] * 20),
        "few": ([calls, stops] * 14, [stops] * 28),
        "not decided by one trial": ([["tool_calls"], ["stop"]] * 20,) * 2,
    }
    folder = tmp_path_factory.mktemp("vendors")
    return {
        verdict: (own_file(folder / f"{verdict}-base.jsonl", ours), own_file(folder / f"{verdict}.jsonl", theirs))
        for verdict, (ours, theirs) in ends.items()
    }


@pytest.mark.parametrize("verdict", ["equivalent", "different", "inconclusive", "few", "not decided by one trial"])
@pytest.mark.parametrize("fail_if", [None, "different", "not-equivalent"])
@pytest.mark.parametrize("least", [None, 1.1])
def test_the_exit_code_is_1_exactly_if_a_test_of_junit_fails(
    vendors: dict[str, tuple[Path, Path]],
    capsys: pytest.CaptureFixture[str],
    verdict: str,
    fail_if: str | None,
    least: float | None,
) -> None:
    baseline, vendor = vendors[verdict]
    options = ["--fail-if", fail_if] * bool(fail_if)
    options += [] if least is None else ["--fail-under", f"f1={least}"]
    code = main(["compare", str(baseline), str(vendor), "--format", "junit", *options])
    printed = capsys.readouterr()
    tests = ElementTree.fromstring(printed.out).findall("testsuite/testcase")
    outcomes = {test.get("name"): test[0].tag if len(test) else "passed" for test in tests}
    is_different, rejected = verdict == "different", fail_if == "not-equivalent" and verdict != "equivalent"
    undecided = "failure" if rejected else "skipped"
    assert outcomes.pop("verdict") == {"equivalent": "passed", "different": "failure"}.get(verdict, undecided)
    if least is not None:
        assert outcomes.pop(f"f1 >= {least:g}") == ("failure" if least > 1 else "passed")
    assert ("failure" in outcomes.values()) is is_different
    assert ("passed" in outcomes.values()) is (verdict == "equivalent")
    failures = {test[0].get("message") for test in tests if len(test) and test[0].tag == "failure"}
    assert code == int(bool(failures)) or (is_different and fail_if is None and (least or 0) <= 1)
    assert {line for line in printed.err.splitlines() if line.startswith(f"{verdict}: ")} <= failures
    assert len(printed.err.splitlines()) >= code
