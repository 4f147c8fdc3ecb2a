"""What a contract gives its implementations for nothing."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed import (
    Api,
    Dataset,
    DatasetDriver,
    Query,
    UsageError,
    contracts,
)

ABSTRACT = [getattr(contracts, name) for name in contracts.__all__ if inspect.isabstract(getattr(contracts, name))]


class Two(Dataset):
    name = test_set = "two"

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def queries(self) -> Sequence[Query]:
        return [Query(query_id=number, text=text, apis=()) for number, text in enumerate(self._texts)]

    def apis(self) -> Sequence[Api]:
        return []


class Driver(DatasetDriver):
    def test_sets(self, data_dir: Path) -> Sequence[str]:
        return ["two"]

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        return Two("a", "b")


@for_each("contract", ABSTRACT, ids=lambda contract: contract.__name__)
def test_a_contract_must_be_implemented(contract: type) -> None:
    with pytest.raises(TypeError, match="abstract"):
        contract()


def test_a_digest_tells_tasks_and_their_order_apart() -> None:
    digest = Two("a", "b").digest()
    assert digest == Two("a", "b").digest()
    assert len({digest, Two("b", "a").digest(), Two("a").digest(), Two("a", "b", "c").digest()}) == 4


def test_a_driver_imports_no_folders_unless_it_says_so(tmp_path: Path) -> None:
    assert Driver().recognises(tmp_path) is False
    with pytest.raises(UsageError, match="Driver cannot import folders"):
        Driver().import_folder(tmp_path, tmp_path)
