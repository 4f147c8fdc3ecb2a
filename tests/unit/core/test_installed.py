"""What is installed here, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.installed import extra_command, installed_packages, offers


def test_each_distribution_is_listed_as_its_metadata_name_it(fake_distribution: Callable[..., Path]) -> None:
    site = fake_distribution("Odd_Name", "2.0rc1", entry_points={}, modules={})
    expected = {f"{item.name.lower()}=={item.version}" for item in distributions()}
    # What is left of an installation that was broken off has no name.
    (site / "bare-1.0.dist-info").mkdir()
    listed = installed_packages()
    assert set(listed) == expected
    assert list(listed) == sorted(listed)
    assert "odd_name==2.0rc1" in listed


def test_what_a_distribution_offers_is_known_when_it_is_installed(fake_distribution: Callable[..., Path]) -> None:
    entries = {"trialbed.odd": {"one": "module:name"}, "others": {"two": "module"}}
    offers("odd")
    site = fake_distribution("Odd_Name", "2.0rc1", entry_points=entries, modules={})
    assert offers("odd") == [("odd", "one", "module:name", "Odd_Name", "2.0rc1")]
    (site / "Odd_Name-2.0rc1.dist-info").rename(site / "removed")
    assert offers("odd") == []


@for_each(
    ("origin", "command"),
    [
        ("", "pip install 'trialbed[dataframe]'"),
        ('{"url": "file:///a/trialbed.whl", "archive_info": {}}', "pip install 'trialbed[dataframe]'"),
        ('{"url": "file:///a/b", "dir_info": {}}', "pip install '/a/b[dataframe]'"),
        ('{"url": "file:///a/my%20b", "dir_info": {"editable": true}}', "pip install -e '/a/my b[dataframe]'"),
    ],
)
def test_an_extra_is_installed_from_where_trialbed_is(
    monkeypatch: pytest.MonkeyPatch, origin: str, command: str
) -> None:
    monkeypatch.setattr(Distribution, "from_name", lambda _: _Origin(origin))
    assert extra_command("dataframe") == command


class _Origin:
    def __init__(self, text: str) -> None:
        self._text = text

    def read_text(self, filename: str) -> str:
        return self._text if filename == "direct_url.json" else ""
