"""Every score is described, in one form."""

from __future__ import annotations

import re
from pathlib import Path

from trialbed.attribution import USED
from trialbed.records import STAGES
from trialbed_plugins.scorers import CATALOG

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "scores.md").read_text(encoding="utf-8")
SECTIONS = re.split("^### ", PAGE.split("## Each score")[1].split("\n## ")[0], flags=re.MULTILINE)[1:]


def test_every_score_has_its_part_in_the_order_of_tables() -> None:
    named = [name for part in SECTIONS for name in part.split("\n")[0].split(", ")]
    assert named == [score.name for score in CATALOG]


def test_each_part_has_the_same_form() -> None:
    for part in SECTIONS:
        leads = [lead for lead in re.findall(r"^\*\*(\w+)\.\*\* \S", part, re.MULTILINE) if lead != "Source"]
        assert leads == ["Formula", "Example", "Limits"], part.split("\n")[0]


def test_every_stage_of_the_attribution_is_described() -> None:
    rows = PAGE.split("| stage |")[1].split("\n\n")[0].splitlines()
    assert [row.split("`")[1] for row in rows if row.startswith("| `")] == [*STAGES, USED]
