"""What is installed here, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

from trialbed.installed import installed_packages


def test_each_distribution_is_listed_as_its_metadata_name_it(fake_distribution: Callable[..., Path]) -> None:
    site = fake_distribution("Odd_Name", "2.0rc1", entry_points={}, modules={})
    expected = {f"{item.name.lower()}=={item.version}" for item in distributions()}
    # What is left of an installation that was broken off has no name.
    (site / "bare-1.0.dist-info").mkdir()
    listed = installed_packages()
    assert set(listed) == expected
    assert list(listed) == sorted(listed)
    assert "odd_name==2.0rc1" in listed
