"""The model cache of a run: whether it has one, in which file, and who its model is there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trialbed.contracts import ModelInfo
from trialbed.errors import UsageError
from trialbed.settings import RunSettings, make_folder, model_cache
from trialbed.wire.redaction import shown_url

OFF = "off"
OPTION = "--model-cache"


class CacheChoice(NamedTuple):
    """The model cache of a run.

    Attributes:
        identity: of the run's model; answers of another one are not found.
    """

    file: Path
    identity: str


def choose_cache(settings: RunSettings, model: ModelInfo) -> CacheChoice | None:
    """Return the model cache that the settings ask for, or that the model has where they say nothing; None for none.

    Raises:
        UsageError: the model's answers are not for a cache, its folder cannot be made, or the server is not the run's.
    """
    asked = settings.model_cache
    if asked == OFF or (asked is None and not (model.cached and settings.server_url is None)):
        return None
    if model.cached is False:
        raise UsageError(f"{OPTION}: the answers of {settings.model} are always the same, and are kept in no cache")
    if settings.server_url is not None:
        raise UsageError(f"{OPTION} needs a server of the run's own: leave out --server-url")
    file = model_cache() if asked is None else Path(asked)
    make_folder(file.parent, OPTION)
    where = f" at {shown_url(settings.base_url)}" if model.at_endpoint and settings.base_url else ""
    return CacheChoice(file.resolve(), model.identity or f"{settings.model}{where}")
