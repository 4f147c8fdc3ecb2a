"""Write a package from the template."""

from __future__ import annotations

import shutil
from pathlib import Path

from trialbed.errors import UsageError
from trialbed_adapter_lab.scaffolding._names import AdapterNames
from trialbed_adapter_lab.scaffolding._template import template_files

MARK = "REPLACE"
"""Stands at every place of the template that the author of an adapter is to change."""


def write_package(names: AdapterNames, parent: Path) -> list[Path]:
    """Write a package into a new folder, named like its distribution.

    Returns:
        Its files, relative to ``parent``.

    Raises:
        UsageError: the folder exists or cannot be made; nothing is left behind.
    """
    folder = parent / names.distribution
    files = list(template_files())
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        raise UsageError(
            f"{error.filename} already exists; remove it, or choose another folder with --output"
        ) from error
    except OSError as error:
        raise _not_written(folder, error) from error
    try:
        return [_write(names, path, content, folder).relative_to(parent) for path, content in files]
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _not_written(folder, error) from error


def _write(names: AdapterNames, path: Path, content: bytes, folder: Path) -> Path:
    target = folder / names.put_into(str(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(names.put_into(content.decode()).encode())
    return target


def _not_written(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{folder} cannot be written: {error.strerror}; choose another folder with --output")
