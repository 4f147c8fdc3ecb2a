"""The template: an adapter's package that works without changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trialbed.errors import UsageError

INSTALLED = Path(__file__).parent / "template"
CHECKOUT = Path(__file__).parents[3] / "adapters" / "_template"
WORKFLOWS = ".github"
MADE = {"__pycache__", "build", "dist", "results"}
"""Folders that an installer or a developer made there, in addition to hidden ones and metadata."""


def template_files() -> Iterator[tuple[Path, bytes]]:
    """Yield ``path in the package, content`` of the template's files.

    Raises:
        UsageError: this installation has no template.
    """
    folder = next((folder for folder in (INSTALLED, CHECKOUT) if folder.is_dir()), None)
    if folder is None:
        raise UsageError(f"{INSTALLED} is missing; reinstall trialbed")
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if file.is_file() and not any(map(_is_made, path.parent.parts)):
            yield path, file.read_bytes()


def _is_made(folder: str) -> bool:
    return folder in MADE or (folder.startswith(".") and folder != WORKFLOWS) or folder.endswith(".egg-info")
