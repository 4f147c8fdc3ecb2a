"""Three tasks about parcels; the rig's template simulator answers for their Apis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from trialbed import Api, Dataset, DatasetDriver, GoldCall, Parameter, Query, UsageError


def _api(name: str, description: str, parameter: str, response: dict[str, Any]) -> Api:
    return Api(
        category="Logistics",
        tool_name="Acme Parcels",
        api_name=name,
        description=description,
        required_parameters=(Parameter(name=parameter, description=f"The {parameter} in question"),),
        template_response=response,
    )


TRACK = _api("track", "Where a parcel is", "parcel", {"depot": "str", "kilograms": "float"})
DEPOT = _api("depot", "Where a depot is and how full", "depot", {"street": "str", "parcels": "int"})
QUOTE = _api("quote", "What sending to a town costs", "town", {"price": "float", "days": "int"})
APIS = (TRACK, DEPOT, QUOTE)


def _query(query_id: int, text: str, *calls: tuple[Api, dict[str, str]]) -> Query:
    gold = tuple(GoldCall(api=api.ref, arguments=dict(arguments)) for api, arguments in calls)
    return Query(query_id=query_id, text=text, apis=APIS, gold_calls=gold)


QUERIES = (
    _query(1, "Where is parcel ZX-41?", (TRACK, {"parcel": "ZX-41"})),
    _query(
        2,
        "Where is parcel QV-77, and in which street is the depot Nordtor?",
        (TRACK, {"parcel": "QV-77"}),
        (DEPOT, {"depot": "Nordtor"}),
    ),
    _query(
        3,
        "What does sending to Ellwang cost, and how full is the depot Hafenau?",
        (QUOTE, {"town": "Ellwang"}),
        (DEPOT, {"depot": "Hafenau"}),
    ),
)


class AcmeDataset(Dataset):
    """The three tasks."""

    name = "acme"
    test_set = "acme"
    simulator = "template"

    def queries(self) -> Sequence[Query]:
        return QUERIES

    def apis(self) -> Sequence[Api]:
        return APIS


class AcmeDriver(DatasetDriver):
    """Opens the one test set there is."""

    description: ClassVar[str] = "Three tasks about parcels"

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        return ("acme",)

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        if test_set not in (None, "acme"):
            raise UsageError(f"acme has no test set {test_set!r}; there is only 'acme'")
        return AcmeDataset()
