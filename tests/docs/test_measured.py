"""The pages of measured figures are what the command writes from the figures that are kept beside them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment

from trialbed_adapter_lab.releases import ReleasesReport, changes_of
from trialbed_adapter_lab.report_files import read_report

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", ["erring-models", "fidelity"])
def test_the_page_shows_the_figures_that_are_kept(name: str, tmp_path: Path) -> None:
    bench = bench_in(tmp_path, own_environment())
    done = bench("fidelity", "--from", REFERENCE / f"{name}.json", "--format", "markdown", code=None)
    assert done.code in (0, 1), done.err  # 1: a part is missing, which the page tells
    page = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    shown = page.split("<!-- measured: fidelity -->\n")[1].split("<!-- end of what was measured -->")[0]
    assert shown.strip() == done.out.strip()


def test_each_issue_of_a_framework_is_about_a_change_that_was_measured() -> None:
    folder = REFERENCE / "frameworks" / "releases"
    reports = {path.stem: read_report(ReleasesReport, path, "bench releases") for path in folder.glob("*.json")}
    for issue in tomllib.loads((folder / "issues.toml").read_text())["issue"]:
        found = [
            subject
            for change in changes_of(reports[issue["framework"]], [issue["release"]])
            for subject in (*change.subjects, change.part)
        ]
        assert issue["what"] in found, issue["url"]
        assert issue["url"].startswith("https://github.com/")
