"""Which releases are measured."""

from __future__ import annotations

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_adapter_lab.releases import KnownReleases, choose, version_range

VERSIONS = ("0.9", "1.0", "1.1", "1.2", "1.3", "2.0", "2.2", "3.0")
KNOWN = KnownReleases(allowed=">=1,<3", published=dict.fromkeys(VERSIONS, ""))


@for_each(
    "first, last, most, expected",
    [
        ("", "", 0, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.2"]),
        ("1.2", "2.0", 0, ["1.2", "1.3", "2.0"]),
        ("", "", 3, ["1.0", "1.2", "2.2"]),
        ("", "", 1, ["2.2"]),
        ("", "", 9, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.2"]),
    ],
)
def test_the_oldest_and_the_newest_are_always_among_them(first: str, last: str, most: int, expected: list[str]) -> None:
    assert choose(KNOWN, version_range(first, last), most) == expected


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(UsageError, match="no release is in the range >=5 that the adapter allows"):
        choose(KNOWN, version_range("5"))
