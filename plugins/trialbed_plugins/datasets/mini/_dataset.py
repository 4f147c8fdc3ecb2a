"""The embedded queries and orders as datasets, and the shop whose APIs change its state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from trialbed.contracts import ApiRefused, Dataset, DatasetDriver, Simulation, Simulator, World
from trialbed.errors import UsageError
from trialbed.records import Api, GoldCall, Json, Parameter, Query
from trialbed_plugins.datasets.mini._declarations import SHOP
from trialbed_plugins.datasets.mini._world import load_world

CATEGORY = "Commerce"
TOOL = "Tarnmere Market Basket"

PRICES: Mapping[str, float] = {
    "lantern": 18.5,
    "rope": 7.25,
    "compass": 31.0,
    "kettle": 22.75,
    "blanket": 40.0,
    "notebook": 4.5,
}
COUPONS: Mapping[str, float] = {"HARBOUR10": 0.1, "FIRSTSNOW": 0.25}


class Basket(World):
    """One customer's basket and orders."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {}
        self._coupon = ""
        self._orders: list[Json] = []

    def call(self, api: Api, arguments: Mapping[str, Json]) -> Json:
        product = str(arguments.get("product", ""))
        quantity = int(str(arguments.get("quantity", 1)))
        match api.api_name:
            case "Add to basket":
                self._set(product, self._items.get(product, 0) + _positive(quantity))
            case "Set quantity":
                self._set(product, quantity)
            case "Remove from basket":
                self._set(product, 0)
            case "Apply coupon":
                self._apply(str(arguments["code"]))
            case "Place order":
                return self._order(str(arguments["city"]))
        return self._content()

    def state(self) -> Json:
        return {"basket": dict(sorted(self._items.items())), "coupon": self._coupon, "orders": self._orders}

    def _set(self, product: str, quantity: int) -> None:
        if product not in PRICES:
            raise ApiRefused(f"no product named {product!r}; there are {', '.join(PRICES)}")
        if quantity < 0:
            raise ApiRefused("quantity must be at least 0")
        if quantity:
            self._items[product] = quantity
        elif self._items.pop(product, None) is None:
            raise ApiRefused(f"{product} is not in the basket")

    def _apply(self, code: str) -> None:
        if code not in COUPONS:
            raise ApiRefused(f"no coupon has the code {code!r}")
        self._coupon = code

    def _order(self, city: str) -> Json:
        if not self._items:
            raise ApiRefused("the basket is empty")
        order: Json = {
            "number": 4101 + len(self._orders),
            "city": city,
            "items": dict(self._items),
            "total": self._total(),
        }
        self._orders.append(order)
        self._items, self._coupon = {}, ""
        return order

    def _content(self) -> Json:
        return {"items": dict(self._items), "coupon": self._coupon, "total": self._total()}

    def _total(self) -> float:
        whole = sum(PRICES[product] * quantity for product, quantity in self._items.items())
        return round(whole * (1 - COUPONS.get(self._coupon, 0.0)), 2)


def _positive(quantity: int) -> int:
    if quantity < 1:
        raise ApiRefused("quantity must be at least 1")
    return quantity


class ShopSimulator(Simulator):
    """Gives each trial its own basket."""

    provenance: ClassVar[str] = SHOP
    invented: ClassVar[bool] = True

    def world(self) -> Basket:
        return Basket()

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:  # noqa: ARG002
        """Refuse the call, since baskets only exist in a trial."""
        return Simulation(error=f"{ref}: this tool belongs to a trial; there is no basket without one")


class ShopDataset(Dataset):
    """Ten queries that are solved by the final state of the shop's basket and orders."""

    name = "mini"
    test_set = SHOP
    simulator = SHOP

    def queries(self) -> Sequence[Query]:
        return _queries()

    def apis(self) -> Sequence[Api]:
        return tuple(_apis().values())


_PRODUCT = Parameter(name="product", description="one of " + ", ".join(PRICES))
_QUANTITY = Parameter(name="quantity", type="INTEGER", description="how many")


@cache
def _apis() -> Mapping[str, Api]:
    declared: tuple[tuple[str, str, tuple[Parameter, ...]], ...] = (
        ("Show basket", "The products in the basket, the coupon, and the total", ()),
        ("Add to basket", "Put more of a product into the basket", (_PRODUCT, _QUANTITY)),
        ("Set quantity", "Change how many of a product are in the basket", (_PRODUCT, _QUANTITY)),
        ("Remove from basket", "Take a product out of the basket", (_PRODUCT,)),
        ("Apply coupon", "Use a coupon for the order", (Parameter(name="code", description="the coupon's code"),)),
        ("Place order", "Order what is in the basket", (Parameter(name="city", description="where to deliver it"),)),
    )
    return {
        name: Api(
            category=CATEGORY,
            tool_name=TOOL,
            api_name=name,
            description=text,
            tool_description="The basket of one customer of the market of Tarnmere",
            required_parameters=parameters,
        )
        for name, text, parameters in declared
    }


@cache
def _queries() -> tuple[Query, ...]:
    """Read the queries in ``shop.jsonl``. Their expected calls produce the final state."""
    apis = _apis()
    found = []
    for number, line in enumerate((files(__package__) / "shop.jsonl").read_text("utf-8").splitlines(), 1):
        task, basket = json.loads(line), Basket()
        for name, arguments in task["calls"]:
            basket.call(apis[name], arguments)
        query = Query(
            query_id=f"shop-{number}",
            text=task["text"],
            apis=tuple(apis.values()),
            gold_calls=tuple(GoldCall(api=apis[name].ref, arguments=arguments) for name, arguments in task["calls"]),
            reference_facts=(task["fact"],),
            final_state=basket.state(),
        )
        found.append(query)
    return tuple(found)


NAME = "mini"


class MiniDataset(Dataset):
    """Sixty queries over an invented world, with three alternating kinds of difficulty.

    A query needs the APIs of one tool, of several tools in one category, or of several categories. Every expected call
    has complete arguments, and every reference fact is evidence of one expected call.
    """

    name = NAME
    test_set = NAME
    simulator = NAME

    def queries(self) -> Sequence[Query]:
        return load_world().queries

    def apis(self) -> Sequence[Api]:
        """Every API of the invented world, including APIs that no query needs."""
        return tuple(load_world().apis.values())


class MiniDriver(DatasetDriver):
    """The dataset that needs no download."""

    description: ClassVar[str] = "60 tasks over an invented world of 10 categories; embedded, needs no download"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - embedded
        """Return the set of queries about an invented world and the set of orders from its shop."""
        return [NAME, SHOP]

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:  # noqa: ARG002 - embedded
        """Return the embedded dataset.

        Raises:
            UsageError: there is no such test set.
        """
        if test_set == SHOP:
            return ShopDataset()
        if test_set not in (None, NAME):
            raise UsageError(f"the dataset {NAME!r} has no test set {test_set!r}; it has {NAME!r} and {SHOP!r}")
        return MiniDataset()
