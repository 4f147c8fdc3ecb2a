"""Every score has its page, in one form."""

from __future__ import annotations

import re
from pathlib import Path

from trialbed.report.attribution import STAGES, USED
from trialbed_plugins.scorers import CATALOG

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = REFERENCE / "scores"

SCORES = [score.name for score in CATALOG]

HEADINGS = ["Formula", "Range", "Source", "Example", "Limits"]


def test_every_declared_score_has_a_page() -> None:
    for name in SCORES:
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {name}\n\n")
        assert re.findall("^## (.+)$", text, re.MULTILINE) == HEADINGS, name
        assert all(part.strip() for part in re.split("^#.+$", text, flags=re.MULTILINE)[1:]), name


def test_there_is_no_other_page() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(SCORES)
    nav = re.findall(r"reference/scores/(\w+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert nav == SCORES


def test_pages_say_the_same_as_the_table() -> None:
    for score in CATALOG:
        page = (PAGES / f"{score.name}.md").read_text(encoding="utf-8")
        said = " ".join(page.split("## Range")[1].split("## Source")[0].split())
        assert ("a trial that failed counts as 0" in said) is (score.bounded and score.quality), score.name
        assert ("always has a value" in said) is (not score.missing), score.name
        assert ("No value" in said) is (bool(score.missing)), score.name


def test_every_stage_of_the_attribution_is_described() -> None:
    rows = (REFERENCE / "scores.md").read_text(encoding="utf-8").split("| stage |")[1].splitlines()
    assert [row.split("`")[1] for row in rows if row.startswith("| `")] == [*STAGES, USED]
