"""Write a package from the template."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from trialbed.errors import UsageError
from trialbed_adapter_lab.scaffolding._names import AdapterNames

MARK = "REPLACE"
"""Stands at every place of the template that the author of an adapter is to change."""
INSTALLED = Path(__file__).parent / "template"
CHECKOUT = Path(__file__).parents[3] / "adapters" / "_template"
WORKFLOWS = ".github"
ELSEWHERE = "choose another folder with --output"
MADE = {"__pycache__", "build", "dist", "results"}
"""Folders that an installer or a developer made there, in addition to hidden ones and metadata."""


def write_package(names: AdapterNames, parent: Path) -> list[Path]:
    """Write a package into a new folder, named like its distribution.

    Returns:
        Its files, relative to ``parent``.

    Raises:
        UsageError: the folder exists or cannot be made; nothing is left behind.
    """
    files = [
        (Path(names.put_into(str(path))), names.put_into(content.decode()).encode())
        for path, content in template_files()
    ]
    return write_files(names.distribution, parent, files)


def write_files(name: str, parent: Path, files: Sequence[tuple[Path, bytes]]) -> list[Path]:
    """Write files into a new folder.

    Args:
        name: of the folder in ``parent``.
        files: path in the folder and content.

    Returns:
        The files, relative to ``parent``.

    Raises:
        UsageError: the folder exists or cannot be made; nothing is left behind.
    """
    folder = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        raise UsageError(f"{error.filename} already exists; remove it, or {ELSEWHERE}") from error
    except OSError as error:
        raise _not_written(folder, error) from error
    try:
        return [_write(folder / path, content).relative_to(parent) for path, content in files]
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _not_written(folder, error) from error


def _write(target: Path, content: bytes) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def _not_written(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{folder} cannot be written: {error.strerror}; {ELSEWHERE}")


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
