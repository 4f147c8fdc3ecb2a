"""The documentation as its readers have it, with the pages that are written by code."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copy, copytree

import pytest
from support.once import Once

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

sys.path.insert(0, str(DOCS))


@pytest.fixture(scope="session")
def docs(once: Once) -> Path:
    """A copy of the folder ``docs``, next to the pages of the repository, with all pages written."""

    def fill(folder: Path) -> None:
        from generate import write_pages
        from parts import PAGES

        def written(place: str, names: list[str]) -> set[str]:
            inside = Path(place).relative_to(DOCS).as_posix()
            return {name for name in names if name == "__pycache__" or f"{inside}/{name}" in PAGES}

        for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
            copy(ROOT / name, folder)
        copytree(DOCS, folder / "docs", ignore=written)
        write_pages(folder / "docs")

    return once("documentation", fill) / "docs"
