"""The title of a run, which says what was compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trialbed.records import framework_name, labels_in_words
from trialbed.report._faults import fault_note
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed.records import Run

FILE = re.compile(r"^([a-z][\w.+-]*:)?(?:~|\.{0,2}|[A-Za-z]:)[/\\](?:.*[/\\])?(?=[^/\\]+$)")
"""The folders of a model that is a file, after its scheme."""

NAMED = 3
"""Subjects up to which a title names each."""


def run_title(run: Run) -> str:
    """Return the frameworks or the vendors, the models and the queries of a run in words."""
    config = run.config
    names = config.frameworks
    compared = _in_words(names) if len(names) <= NAMED else f"{len(names)} {_subjects(run)}"
    number = len(config.query_ids)
    queries = number_of(number, "query", "queries")
    times = f", {config.repeat} times each" if config.repeat > 1 else ""
    kind = "Verification: " if run.kind == "endpoints" else ""
    faults = ", with injected faults" if fault_note(config.faults) else ""
    models = [_without_folder(model) for model in config.models]
    shown = _in_words(models if len({*models}) == len(models) else config.models)
    tools = sorted({config.max_tools, *(own.max_tools for own in config.variations.values() if own.max_tools)})
    offered = f", with {_in_words(list(map(str, tools)))} tools" if len(tools) > 1 else ""
    title = f"{kind}{compared} with {shown} on {queries}{times} ({config.test_set}){offered}{faults}"
    return labels_in_words(title)


def _subjects(run: Run) -> str:
    """Return the word for its labels: a framework may have several, for its profiles, releases and models."""
    if run.kind == "endpoints":
        return "vendors" if len({one.vendor for one in run.endpoints}) == len(run.endpoints) else "endpoints"
    known = {*map(framework_name, run.config.frameworks)}
    return "frameworks" if len(known) == len(run.config.frameworks) else "set-ups"


def _without_folder(model: str) -> str:
    """Return the name of a model, where it is a file, without the folders in which that is."""
    return FILE.sub(r"\1…/", model)


def _in_words(names: Sequence[str]) -> str:
    *first, last = names or ("nothing",)
    return f"{', '.join(first)} and {last}" if first else last
