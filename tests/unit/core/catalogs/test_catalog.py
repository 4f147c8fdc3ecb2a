from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.catalogs import ApiCatalog, StoredApis
from trialbed.records import Api


def api(name: str, **more: object) -> Api:
    return Api(category="C", tool_name="t", api_name=name, **more)


A, B, C = api("a"), api("b", description="ü"), api("c")


@pytest.fixture
def stored(tmp_path: Path) -> StoredApis:
    StoredApis.store([A, B, A], tmp_path)
    return StoredApis(tmp_path)


def test_stored_apis_are_those_that_were_stored(stored: StoredApis) -> None:
    assert (list(stored), stored[-1], stored[:1]) == ([A, B], B, (A,))
    with pytest.raises(IndexError):
        stored[2]


def test_an_identity_in_several_parts_is_the_first(stored: StoredApis) -> None:
    better = api("b", description="better")
    catalog = ApiCatalog([C, better], stored)
    assert list(catalog) == [C, better, A]
    assert catalog.api(B.ref) == better
    assert catalog[1:] == (better, A)
    assert ApiCatalog.of(catalog) is catalog


def test_the_digest_is_that_of_the_apis_wherever_they_are_and_in_whatever_order(stored: StoredApis) -> None:
    assert ApiCatalog(stored).digest == ApiCatalog([B], [A]).digest == ApiCatalog(ApiCatalog(stored), [A]).digest
    assert ApiCatalog(stored).digest != ApiCatalog([A, B, C]).digest
    assert ApiCatalog([A]).digest != ApiCatalog([api("a", method="POST")]).digest
