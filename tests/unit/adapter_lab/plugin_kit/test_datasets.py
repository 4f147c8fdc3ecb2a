"""Datasets under the kit: a right one conforms, and each deliberate defect fails the check that is about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from support.cases import for_each
from support.checked_plugins import COUNT, check

from trialbed import Api, GoldCall, Query
from trialbed.contracts import (
    Dataset,
    DatasetDriver,
)
from trialbed.errors import UsageError
from trialbed_adapter_lab.plugin_kit import PluginSubject, check_plugin

HELLO = Api(category="Greet", tool_name="polite", api_name="hello")


def query(number: int = 1, **more: Any) -> Query:
    fields: dict[str, Any] = {"apis": (HELLO,), "gold_calls": (GoldCall(api=HELLO.ref),), **more}
    return Query(query_id=number, text="Say hello", **fields)


class RightDataset(Dataset):
    name = test_set = "mine"
    given: ClassVar[list[Query]] = [query(1), query(2)]
    known: ClassVar[list[Api]] = [HELLO]

    def queries(self) -> Any:
        return [*self.given]

    def apis(self) -> Any:
        return [*self.known]


class RightDataDriver(DatasetDriver):
    made: type[Dataset] = RightDataset

    def test_sets(self, data_dir: Any) -> Sequence[str]:
        return ("mine",)

    def open(self, test_set: str | None, data_dir: Any) -> Dataset:
        if test_set not in (None, "mine"):
            raise UsageError("there is only 'mine'")
        return self.made()


class AcceptingDriver(RightDataDriver):
    def open(self, test_set: str | None, data_dir: Any) -> Dataset:
        return self.made()


class ListingDriver(RightDataDriver):
    def test_sets(self, data_dir: Any) -> Sequence[str]:
        return [place.name for place in data_dir.iterdir()]


class SharedDataset(RightDataset):
    kept: ClassVar[list[Query]] = [query(1)]

    def queries(self) -> Any:
        return self.kept


class ShuffledDataset(RightDataset):
    def queries(self) -> Any:
        return [query(next(COUNT))]


def driver(**fields: Any) -> type[DatasetDriver]:
    return type("Driver", (RightDataDriver,), {"made": type("Made", (RightDataset,), fields)})


def test_a_right_dataset_conforms() -> None:
    assert check("datasets", RightDataDriver) == {}


@for_each(
    "thing, name",
    [
        (driver(given=[]), "queries_and_apis_are_records"),
        (driver(given=[{"text": "a"}]), "queries_and_apis_are_records"),
        (driver(given=[query(1), query(1)]), "identities_are_unique"),
        (driver(known=[HELLO, HELLO]), "identities_are_unique"),
        (driver(given=[query(apis=())]), "gold_calls_can_be_made"),
        (driver(known=[]), "gold_calls_can_be_made"),
        (driver(simulator="nobody"), "its_simulator_is_installed"),
        (driver(test_set="a/b"), "its_simulator_is_installed"),
        (type("Driver", (RightDataDriver,), {"made": ShuffledDataset}), "it_is_the_same_when_opened_again"),
        (type("Driver", (RightDataDriver,), {"made": SharedDataset}), "its_lists_are_its_own"),
        (AcceptingDriver, "unknown_test_sets_are_refused"),
        (ListingDriver, "an_empty_folder_is_taken"),
    ],
)
def test_each_defect_of_a_dataset_is_named(thing: type[DatasetDriver], name: str) -> None:
    assert name in check("datasets", thing, name)


def test_queries_that_say_nothing_of_what_solves_them_are_told() -> None:
    bare = [query(1, gold_calls=()), query(2, gold_calls=(), states_calls=False)]
    told = [*bare, query(3), query(4, gold_calls=(), reference_facts=("a",)), query(5, gold_calls=(), final_state={})]
    subject = PluginSubject("datasets", "mine", driver(given=told))
    (finding,) = check_plugin(subject, ["queries_can_be_checked"]).findings
    assert finding.outcome == "finding"
    assert "seen: [1, 2]" in finding.message
