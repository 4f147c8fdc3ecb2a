"""Which releases are measured."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_adapter_lab.releases import KnownReleases, PublishedRelease, Wanted, choose

VERSIONS = ("0.9", "1.0", "1.1", "1.2rc1", "1.2", "1.3", "2.0", "2.1", "2.2", "3.0")
PUBLISHED = tuple(PublishedRelease(version=one, withdrawal=one if one == "2.1" else "") for one in VERSIONS)


def chosen(**wanted: Any) -> list[str]:
    return [one.version for one in choose(KnownReleases(allowed=">=1,<3", published=PUBLISHED), Wanted(**wanted))]


@for_each(
    "wanted, expected",
    [
        ({}, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.2"]),
        ({"first": "1.2", "last": "2.0"}, ["1.2", "1.3", "2.0"]),
        ({"most": 3}, ["1.0", "1.2", "2.2"]),
        ({"most": 1}, ["2.2"]),
        ({"most": 9}, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.2"]),
    ],
)
def test_the_oldest_and_the_newest_are_always_among_them(wanted: dict[str, Any], expected: list[str]) -> None:
    assert chosen(**wanted) == expected


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(UsageError, match="no release is between 5 and the newest"):
        chosen(first="5")


@for_each(
    "last, expected",
    [
        ("1.9", []),  # nothing has come after it
        ("1.10", ["1.10"]),
    ],
)
def test_there_may_be_nothing_newer(last: str, expected: list[str]) -> None:
    """The release that newer ones are compared with may be gone from the index, or withdrawn."""
    published = (PublishedRelease(version="1.8"), PublishedRelease(version="1.10"))
    found = choose(KnownReleases(published=published), Wanted(first="1.9", last=last, newer=True))
    assert [one.version for one in found] == expected


def test_a_withdrawn_release_is_measured_again_where_newer_ones_are_compared_with_it() -> None:
    published = tuple(PublishedRelease(version=version, withdrawal=version) for version in ("1.9", "1.10"))
    found = choose(KnownReleases(published=published), Wanted(first="1.9", newer=True))
    assert [one.version for one in found] == ["1.9"]
