"""Check that a class fulfils its contract, with its methods, ``async`` or not, and their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trialbed.errors import UsageError

if TYPE_CHECKING:
    from trialbed.contracts import Simulator, World
    from trialbed.records import Json

CONTRACTS = {
    "frameworks": "BaseAgent",
    "models": "ModelDriver",
    "datasets": "DatasetDriver",
    "selectors": "ToolSelector",
    "simulators": "Simulator",
    "executors": "Executor",
    "vendors": "Vendor",
    "model_adapters": "ModelAdapter",
    "judges": "Judge",
    "reporters": "Reporter",
    "comparers": "Comparer",
}
"""Kind of driver -> its contract in ``trialbed.contracts``."""

EMPTY = inspect.Parameter.empty
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def driver_problems(kind: str, driver: Any) -> Sequence[str]:
    """Describe each departure of a driver of this kind from its contract."""
    from trialbed import contracts  # drivers are listed without it

    if kind not in CONTRACTS:
        return []
    contract: type = getattr(contracts, CONTRACTS[kind])
    given: Any = driver
    if not (isinstance(driver, type) and issubclass(driver, contract)):
        place = "trialbed.BaseAgent" if kind == "frameworks" else f"trialbed.contracts.{contract.__name__}"
        return [f"it is not a subclass of {place}; correct the entry point"]
    return class_problems(given, contract)


def check_object(name: str, given: Any, contract: type) -> None:
    """Check that an object of the caller's program fulfils a contract.

    Args:
        name: of the argument.

    Raises:
        UsageError: it does not; names every departure.
    """
    if not isinstance(given, contract):
        raise UsageError(
            f"{name}: {given!r:.60} is not an object of a subclass of trialbed.contracts.{contract.__name__}"
        )
    own: Any = type(given)
    # It exists already, so its constructor does not matter.
    if problems := class_problems(own, contract, constructor=False):
        raise UsageError(f"{name}: {'; '.join(problems)}")


def check_function(name: str, given: Any, *arguments: str) -> None:
    """Check that a function of the caller's program takes arguments in these places.

    Raises:
        UsageError: it does not.
    """
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):  # written in C
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        called = getattr(given, "__name__", type(given).__name__)
        wanted = f"must take ({', '.join(arguments)})"
        raise UsageError(f"{name}: {called}{signature} {wanted}{_first_line(given)}") from None


def made_world(simulator: Simulator, state: Json) -> World | None:
    """Have a simulator make a world.

    Raises:
        TypeError: it does not fit its contract.
    """
    from trialbed.contracts import World

    world = simulator.world_from(state)
    if world is not None and (problems := class_problems(type(world), World, constructor=False)):
        raise TypeError("; ".join(problems))
    return world


@lru_cache(maxsize=128)
def class_problems(given: Any, contract: Any, *, constructor: bool = True) -> tuple[str, ...]:
    """Describe each departure of a class from the contract that it is a subclass of.

    Args:
        constructor: whether it is made as the contract says.
    """
    absent = sorted(getattr(given, "__abstractmethods__", ()))
    found = [f"{given.__name__} lacks `{_header(name, _function(contract, name))}`" for name in absent]
    members = [name for name in vars(contract) if not name.startswith("_") or name == "__aexit__"]
    for name in (*(["__init__"] if constructor else []), *(name for name in members if name not in absent)):
        asked, own = _function(contract, name), _function(given, name)
        if name == "__init__" and asked is None:
            asked = _no_arguments
        # Properties and attributes are looked at when they are used, and an inherited method is the contract's own.
        if asked is None or own is None or own is asked:
            continue
        parameters = [item for item in inspect.signature(asked).parameters.values() if item.kind not in VARIABLE]
        # Drivers are made with every argument of their constructor.
        due = parameters if name == "__init__" else [item for item in parameters if item.default is EMPTY]
        takes = _binds(own, parameters) and _binds(own, due)
        if (_is_async(own) != _is_async(asked) and not _may_be_either(asked)) or not takes:
            wanted = f"must have `{_header(name, asked)}`{_first_line(own)}"
            found.append(f"{given.__name__} has `{_header(name, own)}`, and {wanted}")
    return tuple(found)


def _no_arguments(self: Any) -> None:
    """Stand for the constructor of a contract without one, which takes no arguments."""


def _function(owner: type, name: str) -> Any:
    """Return the function of a method, or None if it is something else."""
    found = inspect.getattr_static(owner, name, None)
    found = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
    return found if inspect.isfunction(found) else None


def _is_async(function: Any) -> bool:
    # A decorator may return a plain function that returns the wrapped function's coroutine.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inspect.unwrap(function))


def _may_be_either(asked: Any) -> bool:
    """Return whether a contract allows both the result and an awaitable of it."""
    return "Awaitable" in str(asked.__annotations__.get("return", ""))


def _first_line(function: Any) -> str:
    """Return the first line of a function, in brackets; empty without a source."""
    code = getattr(function, "__code__", None)
    return f' (File "{code.co_filename}", line {code.co_firstlineno})' if code is not None else ""


def _binds(function: Any, parameters: list[inspect.Parameter]) -> bool:
    places = [None for item in parameters if item.kind in POSITIONAL]
    names = {item.name: None for item in parameters if item.kind not in POSITIONAL}
    try:
        inspect.signature(function).bind(*places, **names)
    except TypeError:
        return False
    return True


def _header(name: str, function: Any) -> str:
    if function is None:
        return name
    signature = inspect.signature(function)
    bare = [item.replace(annotation=EMPTY) for item in signature.parameters.values()]
    text = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return f"{'async ' if _is_async(function) else ''}def {name}{text}"
