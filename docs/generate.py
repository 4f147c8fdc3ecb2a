"""Write the text of the documentation that follows from code and measurements, or check that it is fresh.

Committed pages have parts between ``<!-- generated: NAME -->`` and ``<!-- end -->``; NAME is a key of ``parts.PARTS``.
Other pages (``parts.PAGES`` and published results) are written whole and are not committed.

    python docs/generate.py            writes both
    python docs/generate.py --check    exits with 1 if a part of a committed page is stale, and names the page
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from parts import PAGES, PARTS

from trialbed_pages.publishing._manifest import NUMBERS, read_manifest
from trialbed_pages.publishing._publish import publish_results

DOCS = Path(__file__).parent
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str], folder: Path = DOCS) -> int:
    """Write or check the pages of a folder; the exit code."""
    pages = [folder.parent / "README.md", *sorted(folder.rglob("*.md"))]
    stale = [page for page in pages if page.is_file() and generated(page.read_text()) != page.read_text()]
    if "--check" in arguments:
        for page in stale:
            sys.stderr.write(f"{page.relative_to(folder.parent)} is stale; run python docs/generate.py\n")
        return 1 if stale else 0
    for page in stale:
        page.write_text(generated(page.read_text()))
        sys.stdout.write(f"wrote {page.relative_to(folder.parent)}\n")
    write_pages(folder)
    return 0


def generated(text: str) -> str:
    """Return a page with every generated part up to date."""
    return PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]().strip()}\n\n{part[3]}", text)


def write_pages(folder: Path) -> None:
    """Write the pages that are not committed, and the pages and figures of published results, into a folder of docs."""
    for published in sorted(folder.glob("results/*/published.json")):
        place = published.parent
        # Pages from an earlier publication are not the published ones.
        for name in {*read_manifest(place).made} - {NUMBERS}:
            (place / name).unlink(missing_ok=True)
        publish_results([str(place)], place, about=None, dataset=None, store=None, data_dir=None)
    for name, write in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(write(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
