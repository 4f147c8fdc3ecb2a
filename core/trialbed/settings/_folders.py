"""The folders and files of Trialbed's state."""

from __future__ import annotations

import os
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.files import make_private_folder

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
