"""The selector of a run, and of a command that has no run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from trialbed.contracts import ToolSelector
from trialbed.drivers import load_driver
from trialbed.engine._model_access import HelperModels
from trialbed.engine._models import with_endpoint
from trialbed.errors import UsageError
from trialbed.records import Api
from trialbed.settings import RunSettings


def selector_driver(settings: RunSettings) -> type[ToolSelector]:
    """The class of the selector that the settings name.

    Raises:
        DriverError: it is not installed, or cannot be loaded.
        UsageError: it asks a model, and none is named.
    """
    driver = cast("type[ToolSelector]", load_driver("selectors", settings.selector))
    if driver.needs_model and settings.selector_model is None:
        raise UsageError(f"--selector {settings.selector} asks a model: give its name as --selector-model")
    return driver


def prepared_selector(
    settings: RunSettings, helpers: HelperModels, apis: Sequence[Api], *, own: ToolSelector | None = None
) -> ToolSelector:
    """The selector, with what it may ask, when it has learnt a catalog.

    Args:
        own: the selector, where it is an object; None for the driver that the settings name.
    """
    selector = own or selector_driver(settings)()
    model, embedding = helpers.selector(), helpers.embedding()
    if model is not None:
        selector.model = model
    if embedding is not None:
        selector.embedding = embedding
    selector.prepare(apis)
    return selector


@contextmanager
def standing_selector(settings: RunSettings, apis: Sequence[Api]) -> Iterator[ToolSelector]:
    """A selector without a run, when it has learnt a catalog.

    Raises:
        UsageError, DriverError: it cannot be used; says why.
    """
    settings = with_endpoint(settings)
    selector_driver(settings)
    helpers = HelperModels(settings)
    try:
        yield prepared_selector(settings, helpers, apis)
    finally:
        helpers.close()
