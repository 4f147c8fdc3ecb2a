"""The pictures of the documentation: each is shown, described, small, and of pages as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
PAGES = [ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if page.parent.name != "results")]
SOURCES = (*(ROOT / "plugins" / name for name in ("trialbed_pages", "trialbed_verify")), ROOT / "core/trialbed/records")
SHOWN = re.compile(r"!\[([^\]]*)\]\(([^)\s#]+)(?:#only-(?:light|dark))?\)")

PATHS = ("how-to/choose-a-framework", "how-to/test-an-agent", "how-to/verify-vendors", "how-to/write-a-plugin")
"""The pages with which the four paths of the first page begin."""


def shown(page: Path) -> list[tuple[str, Path]]:
    """The pictures of a page: what is said of each, and its file."""
    found = SHOWN.findall(page.read_text(encoding="utf-8"))
    return [(text, (page.parent / file).resolve()) for text, file in found]


def test_every_picture_is_shown_with_words_for_those_who_do_not_see_it() -> None:
    found = [one for page in PAGES for one in shown(page) if page.parent.parent != DOCS / "results"]
    assert {file for _, file in found} == set(PICTURES.glob("*.png"))
    assert [file.name for text, file in found if len(text.split()) < 8] == []


def test_each_path_begins_with_a_page_that_has_a_picture() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in PATHS:
        assert f"({page}.md)" in index
        assert shown(DOCS / f"{page}.md"), page


def test_pictures_are_small() -> None:
    sizes = {file.name: file.stat().st_size for file in PICTURES.glob("*.png")}
    assert sizes
    assert {name: size for name, size in sizes.items() if size > 130_000} == {}


def test_pages_still_have_the_headings_that_pictures_show() -> None:
    """Otherwise take the pictures anew: ``python docs/pictures.py``."""
    headings = json.loads((PICTURES / "shown.json").read_text(encoding="utf-8"))
    assert set(headings) == {file.stem.removesuffix("-dark") for file in PICTURES.glob("*.png")}
    assert all(headings.values())
    files = [file for folder in SOURCES for file in folder.rglob("*") if file.suffix in (".py", ".html")]
    pages = "\n".join(file.read_text(encoding="utf-8") for file in files)
    assert [(name, one) for name, found in headings.items() for one in found if one not in pages] == []
