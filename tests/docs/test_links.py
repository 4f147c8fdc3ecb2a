"""Every link leads somewhere, and every page is led to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IN_THE_REPOSITORY = sorted(ROOT.glob("*.md"))
"""Pages that are read where those that code writes are not."""

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


@pytest.fixture
def pages(docs: Path) -> list[Path]:
    return [*IN_THE_REPOSITORY, *sorted(docs.rglob("*.md"))]


def test_links_lead_somewhere(pages: list[Path], docs: Path) -> None:
    for page in pages:
        for link in links(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if target.is_relative_to(docs.parent) and not target.is_relative_to(docs):
                target = ROOT / target.relative_to(docs.parent)
            assert target.exists(), f"{page}: {link}"
            assert target.is_relative_to(ROOT) or target.is_relative_to(docs), f"{page}: {link}"
            if anchor:
                assert anchor in anchors(target), f"{page}: {link}"


def test_every_page_is_in_the_navigation(docs: Path) -> None:
    listed = set(re.findall(r"^ +- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}


def test_no_page_of_the_repository_leads_to_one_that_is_not_committed() -> None:
    from parts import PAGES

    found = {link.partition("#")[0] for page in IN_THE_REPOSITORY for link in links(page)}
    assert sorted(found & {f"docs/{name}" for name in PAGES}) == []


def test_the_readme_leads_to_the_documentation() -> None:
    assert "docs/index.md" in set(links(ROOT / "README.md"))


def test_a_page_has_one_title_and_no_leftovers(pages: list[Path]) -> None:
    for page in pages:
        text = re.sub(r"\A---\n.*?\n---\n+", "", prose(page), flags=re.DOTALL)
        assert text.startswith("# "), page
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1, page
        assert not re.search(r"\b(TODO|TBD|FIXME|XXX)\b", text), page
        assert not re.search(r"^[A-Z_]{5,}$", text, re.MULTILINE), f"{page}: a place that was to be filled"
