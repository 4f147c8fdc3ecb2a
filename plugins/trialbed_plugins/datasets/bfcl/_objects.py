"""The leaderboard's own objects, and its rules for right calls in test sets with several turns."""

from __future__ import annotations

import ast
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pydantic_core import to_jsonable_python

from trialbed.errors import UsageError
from trialbed_plugins.datasets.bfcl._checker import Call

CODE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""Maps classes to modules of the wheel. The files that document their functions have the same names."""

STATELESS = ("MathAPI",)
NEEDED = {"MathAPI": "mpmath"}
"""Maps classes to packages that they import in addition to the wheel."""

REFUSED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")
"""Functions that the leaderboard never calls."""

MOST_DIGITS = 1000
"""Most digits of a number in arguments or results. Larger ones could keep arithmetic busy for hours."""


class CaseObjects:
    """The objects of one case.

    Args:
        start: their initial state: the names of the ``classes``, the ``config`` of each, and whether it is for a
            ``long_context``.
    """

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.by_class: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., Any]] = {}
        for name in start["classes"]:
            made = object_class(name)()
            if name not in STATELESS:
                config = deepcopy(start["config"].get(name, {}))
                made._load_scenario(config, long_context=start["long_context"])
            self.by_class[name] = made
            self._methods.update(
                (method, call) for method, call in inspect.getmembers(made, inspect.ismethod) if method[0] != "_"
            )

    def call(self, function: str, named: Mapping[str, Any], given: Sequence[Any] = ()) -> Any:
        """Call a function. Returns its result, or its error in the leaderboard's words.

        Args:
            named: the keyword arguments.
            given: the positional arguments.
        """
        try:
            if function in REFUSED:
                raise ValueError(f"Function call {function} is not allowed.")
            method = self._methods.get(function)
            if method is None:
                raise NameError(f"name {function!r} is not defined")
            _check_size(function, [*given, *named.values()])
            return method(*deepcopy(tuple(given)), **deepcopy(dict(named)))
        except Exception as error:  # noqa: BLE001 - any exception is the answer
            return f"Error during execution: {error}"

    def response(self, function: str, named: Mapping[str, Any], given: Sequence[Any] = ()) -> str:
        """Return a call's result as the text that the leaderboard compares."""
        return text_of(self.call(function, named, given))

    def state(self) -> dict[str, Any]:
        """Return the objects as JSON, for display."""
        return {name: to_jsonable_python(_public(made), fallback=_fields) for name, made in self.by_class.items()}

    def differences(self, right: CaseObjects) -> Iterator[str]:
        """Yield the attributes that differ from the right objects."""
        for name, wanted in right.by_class.items():
            found = self.by_class[name]
            for attribute, value in _public(wanted).items():
                if getattr(found, attribute) != value:
                    yield f"{name}.{attribute}"


def object_class(name: str) -> type:
    """Return a class of the wheel.

    Raises:
        UsageError: a package that it needs is not installed.
    """
    needed = NEEDED.get(name)
    if needed is not None and find_spec(needed) is None:
        raise UsageError(f"the dataset 'bfcl' needs {needed} for its test sets of several turns: pip install {needed}")
    found: type = getattr(import_module(f"{CODE}.{MODULES[name]}"), name)
    return found


def text_of(result: Any) -> str:
    """Format a function's result as the leaderboard does."""
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


def _check_size(function: str, values: Sequence[Any]) -> None:
    """Reject numbers that would keep the functions of mathematics busy forever. Right calls use much smaller ones."""
    numbers = [each for value in values for each in (value if isinstance(value, list) else [value])]
    sizes = [abs(each) for each in numbers if isinstance(each, int | float)]
    if any(size > 10**MOST_DIGITS for size in sizes):
        raise ValueError("a number is too large")
    if function in ("logarithm", "square_root") and len(sizes) > 1 and sizes[-1] > MOST_DIGITS:
        raise ValueError("the precision is too large")
    if function == "power" and len(sizes) == len(("base", "exponent")):
        base, exponent = sizes
        if exponent > MOST_DIGITS or exponent * len(str(int(base))) > MOST_DIGITS:
            raise ValueError("the power is too large")


def _public(made: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(made).items() if not name.startswith("_")}


def _fields(made: Any) -> Any:
    """Return the fields of an object without the parent of a folder. Other values become text."""
    if not hasattr(made, "__dict__"):
        return str(made)
    return {name: value for name, value in _public(made).items() if name != "parent"}


RightCall = tuple[str, dict[str, Any], list[Any]]
"""A function's name, the keyword arguments and the positional ones."""


def right_call(text: str) -> RightCall:
    """Parse a right call, which the leaderboard writes as Python. Its arguments are literals; nothing is evaluated.

    Raises:
        TypeError, ValueError, SyntaxError: the text is not such a call.
    """
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise TypeError(f"{text} is not a call of a function")
    named = {item.arg: ast.literal_eval(item.value) for item in node.keywords if item.arg is not None}
    return node.func.id, named, [ast.literal_eval(item) for item in node.args]


def problem_of_turns(start: Mapping[str, Any], right: Sequence[Sequence[str]], made: Sequence[Sequence[Call]]) -> str:
    """Explain why calls are wrong; empty if they are right.

    Args:
        start: the initial state of the objects of the case.
        right: the right calls of each turn. Turns without any are not checked.
        made: the model's calls in each turn, in order.
    """
    try:
        turns = [[right_call(text) for text in turn] for turn in right]
    except (TypeError, ValueError, SyntaxError) as error:
        return f"the right calls cannot be read: {error}"
    if len(made) < len(turns):
        return f"it ended with request {len(made)} of {len(turns)}"
    found, expected = CaseObjects(start), CaseObjects(start)
    responses: Counter[str] = Counter()
    for place, (wanted, calls) in enumerate(zip(turns, made, strict=True), 1):
        responses.update(found.response(name, arguments) for name, arguments in calls)
        missing = list((Counter(expected.response(*call) for call in wanted) - responses).elements())
        if not wanted:
            continue
        if not calls:
            return f"turn {place}: nothing was called"
        if differences := list(found.differences(expected)):
            return f"turn {place}: {', '.join(differences)} is not as the right calls leave it"
        if missing:
            return f"turn {place}: nothing returned {missing[0][:200]}"
    return ""
