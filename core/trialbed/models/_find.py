"""Models by name: ``SCHEME:NAME`` of an installed driver, ``FILE.py:NAME``, or a name alone, which is an endpoint's.

Nothing outside of a driver asks which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialbed.contracts import MODEL_CONTRACT, ModelDriver, ModelInfo, OpenedModel
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import UsageError
from trialbed.records import TrialRegistration
from trialbed.settings import RunSettings
from trialbed.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from trialbed.contracts import TrialModel

ENDPOINT = "endpoint"
"""The scheme of names without one. An endpoint's own names may have colons."""

FILE = re.compile(r".+\.py:[^\W\d]\w*")
"""A model that is an object in a file."""


@dataclass(frozen=True)
class FoundModel:
    """A model by its driver and its name there."""

    driver: ModelDriver
    name: str

    def describe(self, settings: RunSettings) -> ModelInfo:
        """As ``ModelDriver.describe``."""
        return self.driver.describe(self.name, settings)

    def open(self, settings: RunSettings) -> AbstractAsyncContextManager[OpenedModel]:
        """As ``ModelDriver.open``."""
        return self.driver.open(self.name, settings)

    def begin(self, registration: TrialRegistration) -> TrialModel | None:
        """As ``ModelDriver.begin``."""
        return self.driver.begin(self.name, registration)


def find_model(text: str) -> FoundModel:
    """Return the driver that a model's text names, and the model's name there; no model is looked up.

    Raises:
        DriverError: the driver is broken.
    """
    if FILE.fullmatch(text):
        from trialbed.models._objects import FileModels  # most models are in no file

        return FoundModel(FileModels(), text)
    return installed_model(text)


def installed_model(text: str) -> FoundModel:
    """As ``find_model``, for texts that may come from another machine: they name no file to run.

    Raises:
        DriverError: the driver is broken.
    """
    scheme, separator, name = text.partition(":")
    if not separator or scheme not in _schemes():
        scheme, name = ENDPOINT, text
    return FoundModel(_driver(scheme), name)


def list_models(settings: RunSettings) -> Iterator[tuple[str, ModelInfo]]:
    """Yield the models that the drivers list, as ``--model`` takes them, each with its description.

    Raises:
        TrialbedError: a driver cannot list its own, or is broken.
    """
    for scheme in _schemes():
        driver = _driver(scheme)
        prefix = "" if scheme == ENDPOINT else f"{scheme}:"
        yield from ((f"{prefix}{name}", driver.describe(name, settings)) for name in driver.names(settings))


def listing_advice() -> Iterator[str]:
    """Yield what keeps a driver from listing models that it could serve."""
    for scheme in _schemes():
        if advice := _driver(scheme).advice():
            yield f"{scheme}: {advice}"


def close_scheme(text: str) -> str | None:
    """Return the model that is probably meant if the scheme is misspelt, or None if no scheme is close."""
    scheme, separator, name = text.partition(":")
    close = closest(scheme, _schemes(), cutoff=0.75) if separator else None
    return f"{close}:{name}" if close and close != scheme else None


def unknown_model(scheme: str, name: str, known: Sequence[str]) -> UsageError:
    """Return the error for a name that a driver does not know, with the names that it knows."""
    close = closest(name, known)
    return UsageError(
        f"there is no {scheme} model {f'{scheme}:{name}'!r}{did_you_mean(close and f'{scheme}:{close}')} "
        f"The {scheme} models are {', '.join(f'{scheme}:{one}' for one in known)}"
    )


def _schemes() -> list[str]:
    return [driver.name for driver in list_drivers("models")]


def _driver(scheme: str) -> ModelDriver:
    driver: ModelDriver = load_driver("models", scheme, MODEL_CONTRACT)()
    driver.scheme = scheme
    return driver
