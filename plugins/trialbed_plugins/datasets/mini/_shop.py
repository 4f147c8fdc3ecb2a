"""A shop that can be ordered from: Apis that change something, and queries about the stock afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from trialbed.contracts import ApiRefused, Dataset, Simulation, Simulator, World
from trialbed.records import Api, GoldCall, Json, Parameter, Query
from trialbed_plugins.datasets.mini._declarations import SHOP

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
    """One customer's basket, and the orders that were made of it."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {}
        self._coupon = ""
        self._orders: list[Json] = []

    def call(self, api: Api, arguments: Mapping[str, Json]) -> Json:
        """Carry out a call of an Api of the shop."""
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
        """The basket and the orders."""
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
    """Gives each trial a basket of its own."""

    provenance: ClassVar[str] = SHOP
    invented: ClassVar[bool] = True

    def world(self) -> Basket:
        """An empty basket."""
        return Basket()

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:  # noqa: ARG002
        """Refuse: without a trial there is no basket."""
        return Simulation(error=f"{ref}: this Api belongs to a trial; there is no basket without one")


class ShopDataset(Dataset):
    """Ten queries that are solved by the final state of the shop's basket and orders."""

    name = "mini"
    test_set = SHOP
    simulator = SHOP

    def queries(self) -> Sequence[Query]:
        """All queries."""
        return _queries()

    def apis(self) -> Sequence[Api]:
        """The shop's Apis."""
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


Step = tuple[str, dict[str, Json]]


def _add(product: str, quantity: int) -> Step:
    return "Add to basket", {"product": product, "quantity": quantity}


def _order(city: str) -> Step:
    return "Place order", {"city": city}


_TASKS: tuple[tuple[str, tuple[Step, ...], str], ...] = (
    ("Put two lanterns into my basket and leave it at that. What does it come to?", (_add("lantern", 2),), "37.0"),
    (
        "I need three ropes and one compass in my basket; what is the total?",
        (_add("rope", 3), _add("compass", 1)),
        "52.75",
    ),
    (
        "Order one kettle to Velmora, please, and tell me the number of the order.",
        (_add("kettle", 1), _order("Velmora")),
        "4101",
    ),
    (
        "Put four notebooks into the basket, then change that to six. What is the total?",
        (_add("notebook", 4), ("Set quantity", {"product": "notebook", "quantity": 6})),
        "27.0",
    ),
    (
        "Put a blanket and a rope into my basket, take the rope out again, and tell me what is to be paid.",
        (_add("blanket", 1), _add("rope", 1), ("Remove from basket", {"product": "rope"})),
        "40.0",
    ),
    (
        "Order two compasses to Pelluin with the coupon HARBOUR10. What do they cost?",
        (_add("compass", 2), ("Apply coupon", {"code": "HARBOUR10"}), _order("Pelluin")),
        "55.8",
    ),
    (
        "Place two orders: a kettle to Velmora, and after it a lantern to Zephyrine. What is the number of the second?",
        (_add("kettle", 1), _order("Velmora"), _add("lantern", 1), _order("Zephyrine")),
        "4102",
    ),
    (
        "Use the coupon FIRSTSNOW on a basket of two blankets, but do not order yet. What is the total?",
        (_add("blanket", 2), ("Apply coupon", {"code": "FIRSTSNOW"})),
        "60.0",
    ),
    (
        "Order five ropes and two notebooks to Zephyrine. What is the total of the order?",
        (_add("rope", 5), _add("notebook", 2), _order("Zephyrine")),
        "45.25",
    ),
    (
        "Put one of each into the basket: lantern, rope and kettle; then make it three ropes. What is the total?",
        (_add("lantern", 1), _add("rope", 1), _add("kettle", 1), ("Set quantity", {"product": "rope", "quantity": 3})),
        "63.0",
    ),
)
"""Text, expected calls, and the facts of the answer. The final state is the one that the expected calls leave."""


@cache
def _queries() -> tuple[Query, ...]:
    return tuple(_query(number, *task) for number, task in enumerate(_TASKS, 1))


def _query(number: int, text: str, steps: Sequence[Step], fact: str) -> Query:
    basket = Basket()
    for name, arguments in steps:
        basket.call(_apis()[name], arguments)
    return Query(
        query_id=f"shop-{number}",
        text=text,
        apis=tuple(_apis().values()),
        gold_calls=tuple(GoldCall(api=_apis()[name].ref, arguments=arguments) for name, arguments in steps),
        reference_facts=(fact,),
        final_state=basket.state(),
    )
