"""Completion of values in the shell: names of drivers, datasets and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

LATEST = "latest"

MOST_RUNS = 50
"""Runs that are suggested."""


def completes(names: Callable[[], Iterable[str]], *, files: bool = False) -> Complete:
    """What click calls to complete a value that is one of these names.

    A shell is never shown an error: what cannot be listed is not suggested.

    Args:
        files: whether the value may be a file too.
    """

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = sorted(set(names()))
        except Exception:  # noqa: BLE001 - an error would appear in the middle of what the user types
            found = []
        suggested = [CompletionItem(name) for name in found if name.startswith(incomplete)]
        # What this type stands for is up to the shell; most add files only where nothing else fits.
        return suggested or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def frameworks() -> Iterable[str]:
    """Frameworks that are installed, and those whose adapters are published with Trialbed."""
    from trialbed.environments import FIRST_PARTY

    return {*_drivers("frameworks"), *FIRST_PARTY}


def datasets() -> Iterable[str]:
    """Datasets, and their test sets as ``NAME:TEST_SET``."""
    from trialbed.engine import dataset_driver
    from trialbed.settings import data_dir

    for name in _drivers("datasets"):
        yield name
        yield from (f"{name}:{test_set}" for test_set in dataset_driver(name).test_sets(data_dir()))


def models() -> Iterable[str]:
    """The scripted models; those of an endpoint are not known here."""
    from trialbed.drivers import load_driver

    return [f"scripted:{policy}" for policy in load_driver("components", "scripted").policy_names()]


def judges() -> Iterable[str]:
    """The judges other than models."""
    from trialbed.engine import judge_drivers

    return judge_drivers()


def drivers(kind: str) -> Callable[[], Iterable[str]]:
    """Drivers of one kind."""
    return lambda: _drivers(kind)


def _drivers(kind: str) -> list[str]:
    from trialbed.drivers import list_drivers

    return [driver.name for driver in list_drivers(kind)]


def scores() -> Iterable[str]:
    """The scores of the plugins that are installed."""
    from trialbed.plugins import described_scores

    return described_scores()[0]


def thresholds() -> Iterable[str]:
    """The scores, ready for a threshold: ``sopr_score=``."""
    return [f"{name}=" for name in scores()]


def profiles() -> Iterable[str]:
    """The profiles that the frameworks that come with Trialbed have."""
    from trialbed.records import CONTROLLED, NATIVE

    return NATIVE, CONTROLLED


def tags() -> Iterable[str]:
    """The tags of the newest runs of the default store."""
    from trialbed.store import open_store

    with open_store() as reader:
        return {tag for run in reader.runs(limit=MOST_RUNS) for tag in run.tags}


def stored_frameworks() -> Iterable[str]:
    """The frameworks of the newest runs of the default store."""
    from trialbed.store import open_store

    with open_store() as reader:
        return {name for run in reader.runs(limit=MOST_RUNS) for name in run.config.frameworks}


def stored_models() -> Iterable[str]:
    """The models of the newest runs of the default store."""
    from trialbed.store import open_store

    with open_store() as reader:
        return {run.config.model for run in reader.runs(limit=MOST_RUNS)}


def runs() -> Iterable[str]:
    """The newest runs of the default store, and ``latest``."""
    from trialbed.store import open_store

    with open_store() as reader:
        return [LATEST, *(run.run_id for run in reader.runs(limit=MOST_RUNS))]
