"""Read settings from files, and name the folders and files of Trialbed's state.

Precedence: option > environment (``TRIALBED_*``, ``.env`` included) > file (``bench.toml`` or
``[tool.trialbed]`` of ``pyproject.toml``, nearest from the working directory upwards) > default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import SettingsError, UsageError
from trialbed.files import make_private_folder


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
    import tomllib

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


STATE_DIR = ".trialbed"


def state_dir() -> Path:
    """Return the folder of the store and the response cache: ``TRIALBED_STATE_DIR`` or ``.trialbed`` here."""
    return Path(os.environ.get("TRIALBED_STATE_DIR") or STATE_DIR)


def make_folder(folder: Path, option: str, *, shared: bool = False) -> None:
    """Make a folder if it is absent.

    Args:
        option: names another one; for the error's text.
        shared: whether other users may read it; else it is for this user alone.

    Raises:
        UsageError: it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True) if shared else make_private_folder(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be created: {error.strerror}; name another place with {option}") from error


def store_file() -> str:
    """Return the default store of runs, a file in the state folder."""
    return str(state_dir() / "trialbed.db")


def response_cache() -> Path:
    """Return the virtual API's default cache of responses, a file in the state folder."""
    return state_dir() / "responses.db"


def completion_cache() -> Path:
    """Return the cache of models' replies to selectors, simulators and judges: a file of the state folder."""
    return state_dir() / "completions.db"


def model_cache() -> Path:
    """Return the cache of models' answers, a file in the state folder."""
    return state_dir() / "model-answers.db"


def data_dir() -> Path:
    """Return the folder of imported datasets: ``TRIALBED_DATA_DIR`` or the user's cache folder."""
    return _cache_dir("TRIALBED_DATA_DIR", "datasets")


def env_dir() -> Path:
    """Return the folder of frameworks' own environments: ``TRIALBED_ENV_DIR`` or the user's cache folder."""
    return _cache_dir("TRIALBED_ENV_DIR", "environments")


def index_dir() -> Path:
    """Return the folder of selectors' indexes of catalogs: ``TRIALBED_INDEX_DIR`` or the user's cache folder."""
    return _cache_dir("TRIALBED_INDEX_DIR", "indexes")


def weights_dir() -> Path:
    """Return the folder of local models' weights in parts: ``TRIALBED_WEIGHTS_DIR`` or the user's cache folder."""
    return _cache_dir("TRIALBED_WEIGHTS_DIR", "weights")


def _cache_dir(variable: str, name: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("trialbed") / name
