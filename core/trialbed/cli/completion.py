"""Completion of values in the shell: names of drivers, datasets and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from trialbed.store import StoredRun

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

LATEST = "latest"

MOST_RUNS = 50
"""Runs that are suggested."""


def completes(names: Callable[[], Iterable[str]], *, files: bool = False) -> Complete:
    """Return the function with which click completes a value that is one of these names.

    A shell never shows an error: names that cannot be listed are not suggested.

    Args:
        files: whether the value may be a file too.
    """

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = sorted(set(names()))
        except Exception:  # noqa: BLE001 - an error would appear in the middle of the line
            found = []
        suggested = [CompletionItem(name) for name in found if name.startswith(incomplete)]
        # The shell decides how to complete files; most add them only where nothing else fits.
        return suggested or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def frameworks() -> Iterable[str]:
    """Return the frameworks that are installed, and those whose adapters are published with Trialbed."""
    from trialbed.environments import FIRST_PARTY

    return {*_drivers("frameworks"), *FIRST_PARTY}


def datasets() -> Iterable[str]:
    """Yield the datasets, and their test sets as ``NAME:TEST_SET``."""
    from trialbed.catalogs import dataset_driver
    from trialbed.settings import data_dir

    for name in _drivers("datasets"):
        yield name
        yield from (f"{name}:{test_set}" for test_set in dataset_driver(name).test_sets(data_dir()))


def models() -> Iterable[str]:
    """Return the models that drivers list; those of an endpoint are not known here."""
    from trialbed.models import list_models
    from trialbed.settings import RunSettings

    return [name for name, _ in list_models(RunSettings())]


def judges() -> Iterable[str]:
    """Return the judges other than models."""
    from trialbed.models import judge_drivers

    return judge_drivers()


def drivers(kind: str) -> Callable[[], Iterable[str]]:
    """Return the function that lists the drivers of a kind."""
    return lambda: _drivers(kind)


def _drivers(kind: str) -> list[str]:
    from trialbed.drivers import list_drivers

    return [driver.name for driver in list_drivers(kind)]


def scores() -> Iterable[str]:
    """Return the scores of the plugins that are installed."""
    from trialbed.plugins import described_scores
    from trialbed.records import shown_name

    names = described_scores()[0]
    return dict.fromkeys([*map(shown_name, names), *names])


def thresholds() -> Iterable[str]:
    """Return the scores, ready for a threshold: ``solved=``."""
    return [f"{name}=" for name in scores()]


def profiles() -> Iterable[str]:
    """Return the profiles of the frameworks that come with Trialbed."""
    from trialbed.environments import FIRST_PARTY, known_profiles

    return dict.fromkeys(profile for name in FIRST_PARTY for profile in known_profiles(name))


def tags() -> Iterable[str]:
    """Return the tags of the newest runs of the default store."""
    return {tag for run in _newest_runs() for tag in run.tags}


def stored_frameworks() -> Iterable[str]:
    """Return the frameworks of the newest runs of the default store."""
    return {name for run in _newest_runs() for name in run.config.frameworks}


def stored_models() -> Iterable[str]:
    """Return the models of the newest runs of the default store."""
    return {model for run in _newest_runs() for model in run.config.models}


def runs() -> Iterable[str]:
    """Return ``latest`` and the newest runs of the default store."""
    return [LATEST, *(run.run_id for run in _newest_runs())]


RUNS_AND_FILES = completes(runs, files=True)
"""Completes an option that names a run or a file."""


def _newest_runs() -> list[StoredRun]:
    from trialbed.store import open_store

    with open_store() as reader:
        return list(reader.runs(limit=MOST_RUNS))
