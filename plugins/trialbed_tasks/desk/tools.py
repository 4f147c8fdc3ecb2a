"""The tools of a shop's help desk, with a few invented orders."""

from __future__ import annotations

from typing import Any

from trialbed import ApiRefused, tool

ITEMS: dict[str, dict[str, Any]] = {
    "teapot": {"price": "25 euros", "stock": 12},
    "lantern": {"price": "18.50 euros", "stock": 3},
    "compass": {"price": "31 euros", "stock": 0, "note": "sold out for good"},
    "blanket": {"price": "40 euros", "stock": 6},
}
ORDERS: dict[int, dict[str, Any]] = {
    101: {"customer": "ann@tarnmere.example", "item": "teapot", "status": "delivered", "days_since_delivery": 9},
    102: {"customer": "ann@tarnmere.example", "item": "blanket", "status": "packed"},
    103: {"customer": "bo@tarnmere.example", "item": "lantern", "status": "delivered", "days_since_delivery": 64},
    104: {"customer": "bo@tarnmere.example", "item": "lantern", "status": "delivered", "days_since_delivery": 3},
    105: {"customer": "cleo@tarnmere.example", "item": "blanket", "status": "packed"},
}


@tool
class Desk:
    """The orders of one conversation."""

    def __init__(self) -> None:
        self._changes: dict[str, dict[str, Any]] = {}

    def find_customer(self, email: str) -> dict[str, Any]:
        """Find the orders of a customer."""
        return {"orders": [number for number, order in ORDERS.items() if order["customer"] == email]}

    def find_order(self, order: int) -> dict[str, Any]:
        """Find an order by its number."""
        if order not in ORDERS:
            raise ApiRefused(f"there is no order {order}")
        return {"order": order, **ORDERS[order], **self._changes.get(str(order), {})}

    def find_item(self, item: str) -> dict[str, Any]:
        """Find the price and the stock of an item."""
        if item not in ITEMS:
            raise ApiRefused(f"there is no {item}; there are {', '.join(ITEMS)}")
        return {"item": item, **ITEMS[item]}

    def refund(self, order: int) -> dict[str, Any]:
        """Pay the price of an order back."""
        return self._change(order, status="refunded")

    def cancel(self, order: int) -> dict[str, Any]:
        """Cancel an order that is not sent yet."""
        return self._change(order, status="cancelled")

    def exchange(self, order: int, item: str) -> dict[str, Any]:
        """Exchange the item of an order for another one."""
        return self._change(order, item=self.find_item(item)["item"])

    def change_address(self, order: int, address: str) -> dict[str, Any]:
        """Change the address to which an order is sent."""
        return self._change(order, address=address)

    def state(self) -> dict[str, Any]:
        """The changes of orders."""
        return self._changes

    def _change(self, order: int, **change: str) -> dict[str, Any]:
        self.find_order(order)
        self._changes[str(order)] = {**self._changes.get(str(order), {}), **change}
        return self.find_order(order)
