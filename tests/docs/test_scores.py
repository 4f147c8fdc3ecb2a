"""Every score has its page, in one form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trialbed.report.attribution import STAGES, USED
from trialbed_plugins.scorers import CATALOG, SCORES

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = REFERENCE / "scores"

HEADINGS = ["Formula", "Range", "Source", "Example", "Limits"]


@pytest.mark.parametrize("name", SCORES)
def test_every_declared_score_has_a_page(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n\n")
    assert re.findall("^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert all(part.strip() for part in re.split("^#.+$", text, flags=re.MULTILINE)[1:])


def test_there_is_no_other_page() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(SCORES)
    nav = re.findall(r"reference/scores/(\w+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert nav == list(SCORES)


@pytest.mark.parametrize("info", CATALOG, ids=lambda info: info.name)
def test_pages_say_the_same_as_the_table(info: object) -> None:
    name, missing, failed = (getattr(info, field) for field in ("name", "missing", "failed"))
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    said = " ".join(page.split("## Range")[1].split("## Source")[0].split())
    assert ("a trial that failed counts as 0" in said) is (failed == "0")
    assert ("always has a value" in said) is (missing == "never")
    assert ("No value" in said) is (missing != "never")


def test_every_stage_of_the_attribution_is_described() -> None:
    rows = (REFERENCE / "scores.md").read_text(encoding="utf-8").split("| stage |")[1].splitlines()
    assert [row.split("`")[1] for row in rows if row.startswith("| `")] == [*STAGES, USED]
