"""The tasks of the cheating adapter: one of the built-in dataset, again for each cheat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, cast

from support.hostile.cheats import CHEATS, MARK

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.drivers import load_driver
from trialbed.records import Api, Query


class CheatTasks(Dataset):
    """A task for each cheat, with the Apis of the built-in dataset and what they return."""

    name = "cheats"
    test_set = "cheats"

    def __init__(self, builtin: Dataset) -> None:
        self._builtin = builtin
        self.simulator = builtin.simulator

    def queries(self) -> Sequence[Query]:
        """The first task of the built-in dataset, again for each cheat."""
        first = self._builtin.queries()[0]
        return [
            first.model_copy(update={"query_id": name, "text": f"{first.text}{MARK}{name}"})
            for name in dict.fromkeys(name for name, _, _ in CHEATS)
        ]

    def apis(self) -> Sequence[Api]:
        """Those of the built-in dataset."""
        return self._builtin.apis()


class CheatTasksDriver(DatasetDriver):
    """Opens the tasks."""

    description: ClassVar[str] = "tasks of the cheating adapter"

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """There is one."""
        return ["cheats"]

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        """Return the tasks."""
        driver = cast("type[DatasetDriver]", load_driver("datasets", "mini"))
        return CheatTasks(driver().open(None, data_dir))
