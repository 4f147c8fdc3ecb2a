"""The issues of frameworks that the documentation names are about changes that were measured."""

from __future__ import annotations

import tomllib
from pathlib import Path

from trialbed_adapter_lab.releases import ReleasesReport
from trialbed_adapter_lab.report_command import read_report

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_each_issue_of_a_framework_is_about_a_change_that_was_measured() -> None:
    folder = RESULTS / "releases"
    reports = {path.stem: read_report(ReleasesReport, path, "bench releases") for path in folder.glob("*.json")}
    for issue in tomllib.loads((folder / "issues.toml").read_text())["issue"]:
        found = [
            subject.partition(": ")[0]
            for change in reports[issue["framework"]].changes
            if change.release == issue["release"]
            for subject in (*change.subjects, change.part)
        ]
        assert issue["what"] in found, issue["url"]
        assert issue["url"].startswith("https://github.com/")
