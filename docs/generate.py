"""Write the parts of the documentation that the code knows best, or check that they are fresh.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; its name is a key of ``parts.PARTS``.

    python docs/generate.py            writes them, and the pages of published results, of their numbers
    python docs/generate.py --check    exits with 1 if any is stale, and names it
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from parts import PARTS

DOCS = Path(__file__).parent
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str], folder: Path = DOCS) -> int:
    """Write or check every page of a folder; the exit code."""
    if "--check" not in arguments:
        for published in sorted(folder.glob("results/*/published.json")):
            place = str(published.parent)
            subprocess.run(
                [sys.executable, "-m", "trialbed", "publish", place, "-o", place], check=True, capture_output=True
            )
    pages = [folder.parent / "README.md", *sorted(folder.rglob("*.md"))]
    stale = [page for page in pages if page.is_file() and generated(page.read_text()) != page.read_text()]
    if "--check" in arguments:
        for page in stale:
            sys.stderr.write(f"{page.relative_to(folder.parent)} is stale; run python docs/generate.py\n")
        return 1 if stale else 0
    for page in stale:
        page.write_text(generated(page.read_text()))
        sys.stdout.write(f"wrote {page.relative_to(folder.parent)}\n")
    return 0


def generated(text: str) -> str:
    """The page with every generated part as it should be."""
    return PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]().strip()}\n\n{part[3]}", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
