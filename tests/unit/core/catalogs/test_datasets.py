"""Datasets that fail when they are asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.distributions import FakeDistribution

from trialbed.catalogs import open_dataset
from trialbed.errors import DataError, DriverBroken

BAD = """\
from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import DataError


class Bad(Dataset):
    def queries(self):
        raise {error}

    def apis(self):
        return ()

    def digest(self):
        return "0"


class Driver(DatasetDriver):
    def test_sets(self, data_dir):
        return ()

    def open(self, test_set, data_dir):
        return Bad()
"""


def install(make: FakeDistribution, error: str) -> Path:
    points = {"trialbed.datasets": {"bad": "bad_set:Driver"}}
    return make("trialbed-bad", "2.5", entry_points=points, modules={"bad_set": BAD.format(error=error)})


def test_a_dataset_whose_queries_fail_is_named_with_its_distribution_and_line(
    fake_distribution: FakeDistribution, tmp_path: Path
) -> None:
    folder = install(fake_distribution, "KeyError('answer')")
    with pytest.raises(DriverBroken) as raised:
        open_dataset("bad", tmp_path)
    said = "'bad' of trialbed-bad 2.5 cannot give its tasks from bad_set:Driver: KeyError: 'answer'"
    assert str(raised.value) == f'datasets: {said} (File "{folder / "bad_set.py"}", line 7)'


def test_what_a_dataset_says_of_its_data_stays_as_it_says_it(
    fake_distribution: FakeDistribution, tmp_path: Path
) -> None:
    install(fake_distribution, "DataError('cases.json:3: no text')")
    with pytest.raises(DataError, match=re.escape("cases.json:3: no text") + "$"):
        open_dataset("bad", tmp_path)
