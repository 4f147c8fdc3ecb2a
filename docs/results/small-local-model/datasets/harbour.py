"""Thirty tasks about an invented harbour town, for small models: `bench run --dataset harbour.py`.

Their kinds stand in the names: one call; formats of arguments; tools that resemble each other; calls that need the
result of another; calls that do not; no call; a task that the tools cannot do. Each is offered three to eight tools.
Nothing here can be known without the tools, except where no call is expected. Names and figures are made up. The tasks
were written before any model had seen one, and no tool, text or expected answer was changed afterwards.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from trialbed import ApiRefused, Expect, Task, call, tool

Day = Literal["monday", "tuesday", "wednesday"]

WEATHER = {
    ("Brackwater", "monday"): {"sky": "drizzle", "high_celsius": 13, "wind_knots": 19},
    ("Brackwater", "tuesday"): {"sky": "clear", "high_celsius": 17, "wind_knots": 8},
    ("Ostmouth", "monday"): {"sky": "fog", "high_celsius": 11, "wind_knots": 4},
    ("Ostmouth", "tuesday"): {"sky": "hail", "high_celsius": 9, "wind_knots": 27},
}
TIDES = {"2026-05-03": {"high": "06:42", "low": "12:58"}, "2026-05-04": {"high": "07:31", "low": "13:44"}}
RATES = {("CRW", "EUR"): 0.37, ("EUR", "CRW"): 2.7, ("CRW", "USD"): 0.41, ("USD", "CRW"): 2.44}
ORDERS = {
    5017: {"item": "oilskin coat", "state": "packed", "price_crowns": 184, "customer_id": 31},
    5018: {"item": "brass lantern", "state": "delivered", "price_crowns": 96, "customer_id": 44},
    5019: {"item": "anchor rope", "state": "returned", "price_crowns": 58, "customer_id": 31},
}
CUSTOMERS = {31: {"name": "Hedda Moen", "city": "Ostmouth"}, 44: {"name": "Pavel Ruiz", "city": "Brackwater"}}
STAFF = {"Ines Calder": "E-207", "Tomas Brandt": "E-118"}
PHONES = {"E-207": "0471-8834", "E-118": "0471-2295"}
DESKS = {"E-207": "harbour office", "E-118": "boat shed 3"}
PRODUCTS = {"tide clock": "SKU-881", "signal flag": "SKU-412", "deck brush": "SKU-530"}
PRICES = {"SKU-881": 74, "SKU-412": 12, "SKU-530": 9}
STOCK = {("SKU-881", "north"): 3, ("SKU-881", "south"): 14, ("SKU-412", "north"): 57, ("SKU-412", "south"): 0}
FERRIES = {("Brackwater", "Ostmouth"): "F-12", ("Ostmouth", "Brackwater"): "F-13", ("Brackwater", "Selby Isle"): "F-40"}
SAILINGS = {"F-12": ["08:15", "16:45"], "F-13": ["09:50", "18:20"], "F-40": ["07:05"]}
FARES = {"F-12": 22, "F-13": 22, "F-40": 35}
DELAYS = {"F-12": 0, "F-13": 25, "F-40": 10}
BERTHS = {("A", 12): "free", ("A", 14): "taken by Marlin", ("B", 3): "free"}
BOOKS = {"The Salt Ledger": "B-7781", "Lamps of Selby": "B-6120"}
COPIES = {"B-7781": 4, "B-6120": 1}
AUTHORS = {"B-7781": "Wren Adair", "B-6120": "Otto Lindqvist"}


def _found(table: dict[Any, Any], key: Any, noun: str) -> Any:
    if key not in table:
        raise ApiRefused(f"there is no {noun} {key!r}")
    return table[key]


@tool
def weather_forecast(city: str, day: Day) -> dict[str, Any]:
    """Forecast of the weather in a city on a day."""
    return _found(WEATHER, (city, day), "forecast for")


@tool
def tide_times(date: str) -> dict[str, str]:
    """Times of high and low tide at Brackwater on a date, written YYYY-MM-DD."""
    return _found(TIDES, date, "tide table for")


@tool
def convert_currency(amount: float, source: str, target: str) -> dict[str, Any]:
    """Convert an amount of money. Currencies are codes of three letters: CRW (crowns), EUR, USD."""
    return {"amount": round(amount * _found(RATES, (source, target), "rate for"), 2), "currency": target}


@tool
def get_order(order_id: int) -> dict[str, Any]:
    """Item, state, price and customer id of one order."""
    return _found(ORDERS, order_id, "order")


@tool
def list_orders(customer_id: int) -> dict[str, Any]:
    """Numbers of all orders of a customer."""
    _found(CUSTOMERS, customer_id, "customer")
    return {"orders": [number for number, order in ORDERS.items() if order["customer_id"] == customer_id]}


@tool
def cancel_order(order_id: int, reason: Literal["too_late", "wrong_item", "other"]) -> dict[str, Any]:
    """Cancel an order, for a reason."""
    _found(ORDERS, order_id, "order")
    return {"order": order_id, "cancelled": reason, "receipt": f"C-{order_id * 3}"}


@tool
def return_order(order_id: int, reason: Literal["too_late", "wrong_item", "other"]) -> dict[str, Any]:
    """Send a delivered order back, for a reason."""
    _found(ORDERS, order_id, "order")
    return {"order": order_id, "returned": reason, "label": f"R-{order_id * 2}"}


@tool
def get_customer(customer_id: int) -> dict[str, str]:
    """Name and city of a customer."""
    return _found(CUSTOMERS, customer_id, "customer")


@tool
def find_employee(name: str) -> dict[str, str]:
    """Employee id of a person, by the full name."""
    return {"employee_id": _found(STAFF, name, "employee")}


@tool
def employee_phone(employee_id: str) -> dict[str, str]:
    """Telephone number of an employee, by the employee id."""
    return {"phone": _found(PHONES, employee_id, "employee")}


@tool
def employee_desk(employee_id: str) -> dict[str, str]:
    """Place of work of an employee, by the employee id."""
    return {"place": _found(DESKS, employee_id, "employee")}


@tool
def find_product(name: str) -> dict[str, str]:
    """SKU of a product, by its name."""
    return {"sku": _found(PRODUCTS, name, "product")}


@tool
def product_price(sku: str) -> dict[str, int]:
    """Price of a product in crowns, by its SKU."""
    return {"price_crowns": _found(PRICES, sku, "product")}


@tool
def product_stock(sku: str, store: Literal["north", "south"]) -> dict[str, int]:
    """Pieces of a product in a store, by its SKU."""
    return {"pieces": _found(STOCK, (sku, store), "stock of")}


@tool
def find_ferry(origin: str, destination: str) -> dict[str, str]:
    """Number of the ferry line from one port to another."""
    return {"line": _found(FERRIES, (origin, destination), "ferry for")}


@tool
def ferry_sailings(line: str) -> dict[str, list[str]]:
    """Times at which a ferry line sails each day."""
    return {"sailings": _found(SAILINGS, line, "line")}


@tool
def ferry_fare(line: str) -> dict[str, int]:
    """Fare of a ferry line in crowns."""
    return {"fare_crowns": _found(FARES, line, "line")}


@tool
def ferry_delay(line: str) -> dict[str, int]:
    """Present delay of a ferry line in minutes."""
    return {"delay_minutes": _found(DELAYS, line, "line")}


@tool
def berth_status(pier: Literal["A", "B"], number: int) -> dict[str, str]:
    """State of one berth of the harbour: free, or taken by a boat."""
    return {"state": _found(BERTHS, (pier, number), "berth")}


@tool
def reserve_berth(pier: Literal["A", "B"], number: int, date: str, boat: str) -> dict[str, str]:
    """Reserve a berth for a boat on a date, written YYYY-MM-DD."""
    _found(BERTHS, (pier, number), "berth")
    return {"reservation": f"{pier}{number}-{date[5:7]}{date[8:10]}-{len(boat)}7"}


@tool
def schedule_meeting(title: str, date: str, start: str, minutes: int, people: list[str]) -> dict[str, str]:
    """Enter a meeting. The date is written YYYY-MM-DD, the start HH:MM in 24 hours."""
    return {"entered": f"{title}, {date}", "meeting": f"M-{len(people)}{minutes}-{start.replace(':', '')}"}


@tool
def find_book(title: str) -> dict[str, str]:
    """Number of a book of the library, by its title."""
    return {"book_id": _found(BOOKS, title, "book")}


@tool
def book_copies(book_id: str) -> dict[str, int]:
    """Copies of a book that can be borrowed now, by its number."""
    return {"copies": _found(COPIES, book_id, "book")}


@tool
def book_author(book_id: str) -> dict[str, str]:
    """Author of a book, by its number."""
    return {"author": _found(AUTHORS, book_id, "book")}


DECLINES = re.compile(
    r"\b(cannot|can't|can not|could not|couldn't|unable|not able|not possible|impossible|sorry|"
    r"no (?:tool|function|way)|none of|do(?:es)? not|don't|doesn't|not available|not provided)\b",
    re.IGNORECASE,
)


def declines(trial: Any) -> str | None:
    """The answer says that the task cannot be done."""
    return (
        None
        if DECLINES.search(trial.answer.final_answer[:4000] if trial.answer else "")
        else "the answer does not say that it cannot be done"
    )


WEATHER_TOOLS = ["weather_forecast", "tide_times", "convert_currency"]
ORDER_TOOLS = ["get_order", "list_orders", "cancel_order", "return_order", "get_customer"]
STAFF_TOOLS = ["find_employee", "employee_phone", "employee_desk"]
SHOP_TOOLS = ["find_product", "product_price", "product_stock", "convert_currency"]
FERRY_TOOLS = ["find_ferry", "ferry_sailings", "ferry_fare", "ferry_delay", "weather_forecast"]
HARBOUR_TOOLS = ["berth_status", "reserve_berth", "schedule_meeting", "tide_times"]
BOOK_TOOLS = ["find_book", "book_copies", "book_author"]


def _task(name: str, text: str, tools: list[str], expect: Expect, answer: str | None = None) -> Task:
    return Task(text, id=name, tools=tools, expect=expect, answer=answer)


tasks = [
    # One call.
    _task(
        "one-1",
        "What will the sky be like in Ostmouth on Tuesday?",
        WEATHER_TOOLS,
        Expect("hail", calls=[call("weather_forecast", city="Ostmouth", day="tuesday")]),
    ),
    _task(
        "one-2", "Which item is order 5018?", ORDER_TOOLS, Expect("lantern", calls=[call("get_order", order_id=5018)])
    ),
    _task(
        "one-3",
        "What is the employee id of Ines Calder?",
        STAFF_TOOLS,
        Expect("E-207", calls=[call("find_employee", name="Ines Calder")]),
    ),
    _task(
        "one-4",
        "How many minutes is ferry line F-13 late at present?",
        FERRY_TOOLS,
        Expect("25", calls=[call("ferry_delay", line="F-13")]),
    ),
    _task(
        "one-5",
        "Is berth 14 of pier A free, or which boat has it?",
        HARBOUR_TOOLS,
        Expect("Marlin", calls=[call("berth_status", pier="A", number=14)]),
    ),
    _task(
        "one-6",
        "How much does the product with SKU-881 cost?",
        SHOP_TOOLS,
        Expect("74", calls=[call("product_price", sku="SKU-881")]),
    ),
    _task(
        "one-7",
        "Who wrote the book with the number B-6120?",
        BOOK_TOOLS,
        Expect("Lindqvist", calls=[call("book_author", book_id="B-6120")]),
    ),
    _task(
        "one-8",
        "In which city does customer 31 live?",
        ORDER_TOOLS,
        Expect("Ostmouth", calls=[call("get_customer", customer_id=31)]),
    ),
    # Formats of arguments.
    _task(
        "format-1",
        "When is high tide at Brackwater on the third of May 2026?",
        WEATHER_TOOLS,
        Expect("06:42", calls=[call("tide_times", date="2026-05-03")]),
    ),
    _task(
        "format-2",
        "Convert two hundred and fifty crowns to euros.",
        WEATHER_TOOLS,
        Expect("92.5", calls=[call("convert_currency", amount=250, source="CRW", target="EUR")]),
    ),
    _task(
        "format-3",
        "Reserve berth 3 of pier B for the boat Petrel on 4 June 2026. Tell me the reservation.",
        HARBOUR_TOOLS,
        Expect("B3-0604-67", calls=[call("reserve_berth", pier="B", number=3, date="2026-06-04", boat="Petrel")]),
    ),
    _task(
        "format-4",
        "Enter the meeting Dredging with Ines and Tomas on 12 March 2026 at half past two in the afternoon, "
        "for three quarters of an hour. Tell me its number.",
        HARBOUR_TOOLS,
        Expect(
            "M-245-1430",
            calls=[
                call(
                    "schedule_meeting",
                    title="Dredging",
                    date="2026-03-12",
                    start="14:30",
                    minutes=45,
                    people=["Ines", "Tomas"],
                )
            ],
        ),
    ),
    # Tools that resemble each other.
    _task(
        "alike-1",
        "Send order 5018 back: it was the wrong item. Which label does it get?",
        ORDER_TOOLS,
        Expect("R-10036", calls=[call("return_order", order_id=5018, reason="wrong_item")], never=["cancel_order"]),
    ),
    _task(
        "alike-2",
        "Cancel order 5017, as it comes too late. What is the receipt?",
        ORDER_TOOLS,
        Expect("C-15051", calls=[call("cancel_order", order_id=5017, reason="too_late")], never=["return_order"]),
    ),
    _task(
        "alike-3",
        "Which orders does customer 31 have?",
        ORDER_TOOLS,
        Expect(["5017", "5019"], calls=[call("list_orders", customer_id=31)]),
    ),
    _task(
        "alike-4",
        "Where does the employee E-118 work?",
        STAFF_TOOLS,
        Expect("boat shed 3", calls=[call("employee_desk", employee_id="E-118")]),
    ),
    _task(
        "alike-5",
        "What does a trip on ferry line F-40 cost?",
        FERRY_TOOLS,
        Expect("35", calls=[call("ferry_fare", line="F-40")]),
    ),
    # Calls that need the result of another.
    _task(
        "steps-1",
        "What is the telephone number of Tomas Brandt?",
        STAFF_TOOLS,
        Expect(
            "0471-2295", calls=[call("find_employee", name="Tomas Brandt"), call("employee_phone", employee_id="E-118")]
        ),
    ),
    _task(
        "steps-2",
        "How much is a signal flag?",
        SHOP_TOOLS,
        Expect("12", calls=[call("find_product", name="signal flag"), call("product_price", sku="SKU-412")]),
    ),
    _task(
        "steps-3",
        "At what times does the ferry from Ostmouth to Brackwater sail?",
        FERRY_TOOLS,
        Expect(
            ["09:50", "18:20"],
            calls=[
                call("find_ferry", origin="Ostmouth", destination="Brackwater"),
                call("ferry_sailings", line="F-13"),
            ],
        ),
    ),
    _task(
        "steps-4",
        "How many copies of The Salt Ledger can be borrowed?",
        BOOK_TOOLS,
        Expect("4", calls=[call("find_book", title="The Salt Ledger"), call("book_copies", book_id="B-7781")]),
    ),
    _task(
        "steps-5",
        "What is the name of the customer who placed order 5017?",
        ORDER_TOOLS,
        Expect("Hedda Moen", calls=[call("get_order", order_id=5017), call("get_customer", customer_id=31)]),
    ),
    _task(
        "steps-6",
        "What does a tide clock cost in euros?",
        SHOP_TOOLS,
        Expect(
            "27.38",
            calls=[
                call("find_product", name="tide clock"),
                call("product_price", sku="SKU-881"),
                call("convert_currency", amount=74, source="CRW", target="EUR"),
            ],
        ),
    ),
    # Calls that do not need each other.
    _task(
        "both-1",
        "How warm does it get on Monday in Brackwater, and how warm in Ostmouth?",
        WEATHER_TOOLS,
        Expect(
            ["13", "11"],
            calls=[
                call("weather_forecast", city="Brackwater", day="monday"),
                call("weather_forecast", city="Ostmouth", day="monday"),
            ],
        ),
    ),
    _task(
        "both-2",
        "How many pieces of SKU-881 does the north store have, and how many the south store?",
        SHOP_TOOLS,
        Expect(
            ["3", "14"],
            calls=[
                call("product_stock", sku="SKU-881", store="north"),
                call("product_stock", sku="SKU-881", store="south"),
            ],
        ),
    ),
    _task(
        "both-3",
        "What are the phone number and the place of work of employee E-207?",
        STAFF_TOOLS,
        Expect(
            ["0471-8834", "harbour office"],
            calls=[call("employee_phone", employee_id="E-207"), call("employee_desk", employee_id="E-207")],
        ),
    ),
    # No call.
    _task(
        "none-1", "How many minutes are three hours?", FERRY_TOOLS, Expect("180", calls=[], only=True), "180 minutes."
    ),
    _task("none-2", "Translate the word 'water' into French.", BOOK_TOOLS, Expect("eau", calls=[], only=True), "eau"),
    # The tools cannot do it.
    _task(
        "cannot-1",
        "Play a song by the harbour choir.",
        [*HARBOUR_TOOLS, *STAFF_TOOLS],
        Expect(calls=[], only=True, check=declines),
        "I cannot do this.",
    ),
    _task(
        "cannot-2",
        "Book a taxi to the airport for me.",
        [*FERRY_TOOLS, *STAFF_TOOLS],
        Expect(calls=[], only=True, check=declines),
        "I cannot do this.",
    ),
]
