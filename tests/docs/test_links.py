"""Every link leads somewhere, and every page is led to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
OTHER_SITES = ("https://", "http://")


def prose(page: Path) -> str:
    """A page without its examples."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    yield from (link for link in LINK.findall(prose(page)) if not link.startswith(OTHER_SITES))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them; of a page in HTML, all that it has."""
    if page.suffix == ".html":
        return set(re.findall(r' id="([^"]+)"', page.read_text(encoding="utf-8")))
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in links(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page}: {link}"
            assert ROOT in target.parents, f"{page}: {link}"
            if anchor:
                assert anchor in anchors(target), f"{page}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"^ +- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def test_the_readme_leads_to_the_documentation() -> None:
    assert "docs/index.md" in set(links(ROOT / "README.md"))


def test_a_page_has_one_title_and_no_leftovers() -> None:
    for page in PAGES:
        text = prose(page)
        assert text.startswith("# "), page
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1, page
        assert not re.search(r"\b(TODO|TBD|FIXME|XXX)\b", text), page
        assert not re.search(r"^[A-Z_]{5,}$", text, re.MULTILINE), f"{page}: a place that was to be filled"
