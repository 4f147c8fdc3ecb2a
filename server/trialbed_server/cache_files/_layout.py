"""The layout of a cache folder: its files, and the Apis that their paths name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trialbed_server.standard_names import StandardName, requested_name

FOLDER = "tool_response_cache"
LAYOUTS = "{category}/{tool}_for_{category}/{api}.json or {category}/{tool_name}/{api_name}.json"
DEPTH = len(("category", "tool", "api"))
LONGEST_NAME = 255
"""Bytes of one part of a path, on the usual file systems."""


def cache_folder(folder: Path) -> Path | None:
    """The cache folder that a folder is or, as a copy of StableToolBench, holds; None if there is none.

    A folder is one by its name, or if there are files in it at the depth of both layouts.
    """
    for candidate in (folder, folder / FOLDER, folder / "server" / FOLDER):
        if candidate.is_dir() and (candidate.name == FOLDER or next(cache_files(candidate), None) is not None):
            return candidate
    return None


def cache_files(folder: Path) -> Iterator[Path]:
    """The files of a cache folder."""
    return (path for path in folder.glob("*/*/*.json") if path.is_file())


def misplaced_files(folder: Path) -> Iterator[Path]:
    """Files that look like a cache's and are at no place that says which Api they are of, or lead to nothing."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.suffix.lower() != ".json" or any(part.startswith(".") for part in parts):
            continue
        if path.is_file() and len(parts) == DEPTH and path.suffix == ".json":
            continue
        if path.is_file() or path.is_symlink():
            yield path


def name_of(file: Path) -> StandardName:
    """The standardised triple of the Api whose answers a file holds.

    The folder of a tool is ``{tool}_for_{category}``, or the tool's name alone; names may be original or standardised.
    """
    category, tool = file.parent.parent.name, file.parent.name
    return requested_name(category, tool, file.name.removesuffix(".json"))


def path_of(name: StandardName) -> Path | None:
    """The path of an Api's file below a cache folder; None where its names cannot be parts of a path.

    Names come from requests: none may lead out of the folder.
    """
    parts = (name.category, f"{name.tool}_for_{name.category}", f"{name.api}.json")
    if not (name.category and name.tool and name.api) or not all(map(_is_part, parts)):
        return None
    return Path(*parts)


def _is_part(text: str) -> bool:
    if text in (".", "..") or not text.isprintable() or not {"/", "\\", ":"}.isdisjoint(text):
        return False
    return len(text.encode("utf-8", "replace")) <= LONGEST_NAME
