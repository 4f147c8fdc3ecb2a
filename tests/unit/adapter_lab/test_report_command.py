"""The file that ``bench fidelity --output`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import for_each
from support.fidelity import CONDITIONS

from trialbed.cli import main
from trialbed_adapter_lab.fidelity import FidelityReport
from trialbed_adapter_lab.report_command import read_report

NAMES = ("plain", "a “quoted”\nname", "{[", "x" * 500)


@for_each("frameworks", [0, 1, 2])
@for_each("names", [(), NAMES])
def test_a_file_is_shown_and_written_again_unchanged(
    names: tuple[str, ...], frameworks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = [{"name": name, "stresses": "", "reason": f"the reason for {name}"} for name in names]
    schemas = {"findings": findings, "order": "kept", "trials": 1}
    measured = [{"framework": f"framework-{number}", "schemas": schemas} for number in range(frameworks)]
    report = FidelityReport.model_validate({"conditions": CONDITIONS, "frameworks": measured})
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(report.model_dump_json())
    assert main(["fidelity", "--from", str(old), "--output", str(new), "--json"]) == (0 if frameworks else 3)
    assert json.loads(capsys.readouterr().out) == json.loads(old.read_text()) == json.loads(new.read_text())
    assert FidelityReport.model_validate_json(new.read_text()) == report


def test_a_file_with_the_conditions_of_earlier_versions_is_read(tmp_path: Path) -> None:
    conditions = CONDITIONS.model_dump(mode="json")
    file = tmp_path / "fidelity.json"
    file.write_text(json.dumps({"conditions": conditions | {"processor": "AMD", "load_before": 0.5}, "frameworks": []}))
    assert read_report(FidelityReport, file, "bench fidelity").conditions == CONDITIONS
