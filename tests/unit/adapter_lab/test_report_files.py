"""The file that ``bench fidelity --output`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import for_each
from support.fidelity import CONDITIONS

from trialbed.cli import main
from trialbed_adapter_lab.fidelity import FidelityReport
from trialbed_adapter_lab.report_files import report_text

NAMES = ("plain", "a “quoted”\nname", "{[", "x" * 500)


def report(*names: str, frameworks: int = 2) -> FidelityReport:
    """A report with a finding for each name."""
    findings = [{"name": name, "stresses": "", "reason": f"the reason for {name}"} for name in names]
    schemas = {"findings": findings, "order": "kept", "trials": 1}
    found = [{"framework": f"framework-{number}", "schemas": schemas} for number in range(frameworks)]
    return FidelityReport.model_validate({"conditions": CONDITIONS, "frameworks": found})


@for_each("frameworks", [0, 1, 2])
@for_each("names", [(), NAMES])
def test_what_is_written_is_the_report(names: tuple[str, ...], frameworks: int) -> None:
    written = report(*names, frameworks=frameworks)
    text = report_text(written.model_dump_json(), unfolded="frameworks")
    assert FidelityReport.model_validate_json(text) == written
    assert json.loads(text) == json.loads(written.model_dump_json())


def test_another_finding_changes_one_line() -> None:
    before, after = (
        report_text(report("a", name, "c", frameworks=1).model_dump_json(), unfolded="frameworks").splitlines()
        for name in ("b", "B")
    )
    assert len(before) == len(after)
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_a_file_is_shown_and_written_again_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(report(*NAMES).model_dump_json(indent=2))
    assert main(["fidelity", "--from", str(old), "--output", str(new), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(old.read_text()) == json.loads(new.read_text())
    assert len(new.read_text().splitlines()) < len(old.read_text().splitlines()) / 2
