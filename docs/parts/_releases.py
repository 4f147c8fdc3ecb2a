"""The frameworks over their releases: the reports that are kept beside the page, and the frameworks' own issues."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from trialbed import views
from trialbed_adapter_lab.releases import ReleasesReport, report_tables
from trialbed_adapter_lab.report_command import read_report

FOLDER = Path(__file__).parents[1] / "reference" / "frameworks" / "releases"

NAMES = {
    "agno": "Agno",
    "autogen": "AutoGen",
    "crewai": "CrewAI",
    "langgraph": "LangGraph",
    "openai-agents": "OpenAI Agents SDK",
}


def framework_releases() -> str:
    """Every framework that was measured: its releases, and the changes of each."""
    return "\n".join(
        _framework(read_report(ReleasesReport, path, "bench releases")) for path in sorted(FOLDER.glob("*.json"))
    )


def issues() -> list[dict[str, Any]]:
    """The frameworks' own issues: which change of which release each is about."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / "issues.toml").read_text(encoding="utf-8"))["issue"]
    return found


def _framework(report: ReleasesReport) -> str:
    overview, *changes = report_tables(report)
    parts = [f"## {NAMES.get(report.framework, report.framework)}\n", views.markdown([overview], level=3)]
    for release, tables in groupby(changes, key=lambda table: table.title.partition(",")[0]):
        parts += [views.markdown([table], level=3) for table in tables]
        parts += _lines(report.framework, release)
    return "\n".join(parts)


def _lines(framework: str, release: str) -> Iterator[str]:
    for issue in issues():
        if (issue["framework"], issue["release"]) == (framework, release):
            yield f"* {issue['what']}: [{issue['title']}]({issue['url']})\n"
