"""The selector and the judge of a run, seen to be there before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from trialbed.catalogs import expecting_queries
from trialbed.contracts import Judge, ToolSelector
from trialbed.drivers import load_driver
from trialbed.errors import UsageError
from trialbed.models import judge_choice
from trialbed.records import Query
from trialbed.scoring import RULE
from trialbed.settings import RunSettings


def selector_driver(settings: RunSettings) -> type[ToolSelector]:
    """Return the class of the selector that the settings name.

    Raises:
        DriverError: it is not installed, or cannot be loaded.
        UsageError: it asks a model, and none is named.
    """
    driver = cast("type[ToolSelector]", load_driver("selectors", settings.selector))
    if driver.needs_model and settings.selector_model is None:
        raise UsageError(f"--selector {settings.selector} asks a model: give its name as --selector-model")
    return driver


def check_criteria(queries: Sequence[Query], settings: RunSettings, own: Judge | None) -> None:
    """See that somebody can judge the criteria of tasks.

    Raises:
        UsageError: nobody can; says how a model is named.
    """
    query = next((one for one in expecting_queries(queries) if one.expected and one.expected.all_criteria), None)
    if query is None:
        return
    name, model = ("", None) if own is not None else judge_choice(settings)
    judge = type(own) if own is not None else load_driver("judges", name)
    if judge.meets is Judge.meets or (name == RULE and model is None):
        raise UsageError(
            f"task {query.query_id} has criteria, and no model that reads them: name it as --judge-model (judge_model= "
            "in Python), as NAME@URL or with its endpoint as --base-url"
        )
