"""Reads settings from files.

Precedence: option > environment (``TRIALBED_*``, ``.env`` included) > file (``bench.toml`` or
``[tool.trialbed]`` of ``pyproject.toml``, nearest from the working directory upwards) > default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import SettingsError


@dataclass(frozen=True)
class SettingsFile:
    """Defaults read from a file: ``values`` maps a command's name to its options."""

    path: Path
    values: Mapping[str, Any]


def read_env_file(start: Path) -> Path | None:
    """Add the variables of the nearest ``.env`` to the environment; variables that are already set stay.

    Returns:
        The path of the file read, or None.

    Raises:
        SettingsError: it cannot be read.
    """
    path = next((folder / ".env" for folder in _upwards(start) if (folder / ".env").is_file()), None)
    if path is not None:
        from dotenv import load_dotenv

        try:
            load_dotenv(path, override=False)
        except (OSError, ValueError) as error:
            raise SettingsError(f"{path}: cannot be read: {error}") from error
    return path


def read_settings_file(start: Path) -> SettingsFile | None:
    """Return the nearest settings file, or None.

    Raises:
        SettingsError: the file is not TOML, or a command's settings are not a table.
    """
    for folder in _upwards(start):
        for name, table in (("bench.toml", ()), ("pyproject.toml", ("tool", "trialbed"))):
            path = folder / name
            if path.is_file() and (values := _table(path, table)) is not None:
                return SettingsFile(path, values)
    return None


def _table(path: Path, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    try:
        values: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    for key in keys:
        values = values.get(key)
        if values is None:
            return None
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: [{'.'.join(keys)}] must be a table")
    for command, options in values.items():
        if not isinstance(options, dict):
            raise SettingsError(f"{path}: {command!r} must be in a command's table, such as [run]")
    return values


def _upwards(start: Path) -> Iterator[Path]:
    start = start.resolve()
    yield start
    yield from start.parents
