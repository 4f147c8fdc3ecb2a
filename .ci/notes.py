"""Print a version's section of the changelog, as the notes of its release: `python .ci/notes.py 0.1.0`."""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def find_notes(changelog: str, version: str) -> str:
    """Return the text below a version's heading; exit with a message if the text or the date is missing."""
    section = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)"
    found = re.search(section, changelog, re.DOTALL | re.MULTILINE)
    if found is None or not (notes := found[1].strip()):
        sys.exit(f"CHANGELOG.md has no section `## [{version}] - YEAR-MONTH-DAY` with text")
    return notes


if __name__ == "__main__":
    sys.stdout.write(find_notes(CHANGELOG.read_text("utf-8"), sys.argv[1]) + "\n")
