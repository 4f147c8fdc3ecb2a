"""The embedded queries as a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import UsageError
from trialbed.records import Api, Query
from trialbed_plugins.datasets.mini._declarations import SHOP
from trialbed_plugins.datasets.mini._world import load_world

NAME = "mini"


class MiniDataset(Dataset):
    """Sixty queries over an invented world, in three kinds of difficulty that take turns.

    The kinds: the Apis of one tool, of several tools of one category, of several categories. Every expected
    call has complete arguments, and every reference fact is evidence of one expected call.
    """

    name = NAME
    test_set = NAME
    simulator = NAME

    def queries(self) -> Sequence[Query]:
        """All queries."""
        return load_world().queries

    def apis(self) -> Sequence[Api]:
        """Every Api of the invented world, also those that no query needs."""
        return tuple(load_world().apis.values())


class MiniDriver(DatasetDriver):
    """The dataset that needs no download."""

    description: ClassVar[str] = "60 queries over an invented world of 10 categories; embedded, needs no download"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - embedded
        """The queries about an invented world, and those that order from its shop."""
        return [NAME, SHOP]

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - embedded
        """The embedded dataset.

        Raises:
            UsageError: another test set was asked for.
        """
        if test_set == SHOP:
            from trialbed_plugins.datasets.mini._shop import ShopDataset  # most runs are of the other queries

            return ShopDataset()
        if test_set not in (None, NAME):
            raise UsageError(f"the dataset {NAME!r} has no test set {test_set!r}; it has {NAME!r} and {SHOP!r}")
        return MiniDataset()
