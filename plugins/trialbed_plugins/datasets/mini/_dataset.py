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
    """Sixty queries over an invented world, with three alternating kinds of difficulty.

    A query needs the APIs of one tool, of several tools in one category, or of several categories. Every expected call
    has complete arguments, and every reference fact is evidence of one expected call.
    """

    name = NAME
    test_set = NAME
    simulator = NAME

    def queries(self) -> Sequence[Query]:
        return load_world().queries

    def apis(self) -> Sequence[Api]:
        """Every API of the invented world, including APIs that no query needs."""
        return tuple(load_world().apis.values())


class MiniDriver(DatasetDriver):
    """The dataset that needs no download."""

    description: ClassVar[str] = "60 tasks over an invented world of 10 categories; embedded, needs no download"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - embedded
        """Return the set of queries about an invented world and the set of orders from its shop."""
        return [NAME, SHOP]

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - embedded
        """Return the embedded dataset.

        Raises:
            UsageError: there is no such test set.
        """
        if test_set == SHOP:
            from trialbed_plugins.datasets.mini._shop import ShopDataset  # most runs use the other queries

            return ShopDataset()
        if test_set not in (None, NAME):
            raise UsageError(f"the dataset {NAME!r} has no test set {test_set!r}; it has {NAME!r} and {SHOP!r}")
        return MiniDataset()
