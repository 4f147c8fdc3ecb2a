"""List and load drivers, which are chosen by name.

Listing reads metadata and imports nothing. Loading a broken driver is an error that names the distribution, its version
and the cause.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

from trialbed.conformity import CONTRACTS, driver_problems
from trialbed.errors import ContractMismatch, DriverBroken, DriverError, DriverNotFound
from trialbed.installed import PROJECT_DISTRIBUTION, Offer, load_target, offers
from trialbed.suggestions import closest, did_you_mean
from trialbed.tracebacks import own_line

GROUPS = {kind: f"trialbed.{kind}" for kind in (*CONTRACTS, "commands", "components")}
"""Kind of driver -> entry-point group. ``components`` are the parts of Trialbed itself that core loads lazily."""

MOST_PROBLEMS = 5
"""Problems of one record that are named."""

Advice = Callable[[str, str | None, Sequence[str]], str]
"""Builds advice on a missing driver from its name, the closest name if one is close, and the installed names."""

OWN_AGENT = "; if it is your own agent and no adapter, give the class to trialbed.evaluate(), or run an object of it"


def list_drivers(kind: str) -> list[Offer]:
    """Return every installed driver of a kind, by name."""
    return sorted({(offer.name, offer.target): offer for offer in offers(kind)}.values())


def driver_info(kind: str, name: str, *, known: Collection[str] = (), advice: Advice | None = None) -> Offer:
    """Return the installed driver of this name.

    Args:
        known: names of drivers that are not installed but may be meant.
        advice: writes the end of the message if the driver is not installed.

    Raises:
        DriverNotFound: no installed distribution offers it; lists the drivers that are installed.
        DriverError: two distributions offer the name.
    """
    drivers = list_drivers(kind)
    matches = [driver for driver in drivers if driver.name == name]
    if not matches:
        raise DriverNotFound(_not_found(kind, name, [driver.name for driver in drivers], known, advice))
    if len(matches) > 1:
        owners = " and ".join(f"{match.distribution} {match.version}" for match in matches)
        raise DriverError(f"{kind}: {name!r} is offered by {owners}; uninstall one of them")
    return matches[0]


def load_driver(kind: str, name: str, contract: str = "") -> Any:
    """Import the driver of this name and return what its entry point names (usually a class).

    Args:
        contract: the version that the driver must state in ``contract``; empty for any, or without one.

    Raises:
        DriverNotFound, DriverBroken, ContractMismatch: as their docstrings say.
    """
    info = driver_info(kind, name)
    driver = load_entry(info)
    if contract:
        _check_contract(info, driver, contract)
    # Trialbed's own fit: its tests check that.
    if info.distribution != PROJECT_DISTRIBUTION and (problems := driver_problems(kind, driver)):
        raise DriverBroken(
            f"{info.kind}: {info.name!r} of {info.distribution} {info.version} names {info.target}, which does not fit "
            f"its contract: {'; '.join(problems)}"
        )
    return driver


def load_entry(info: Offer) -> Any:
    """Import what the entry point of a driver names, and check nothing of it.

    Raises:
        DriverBroken: it cannot be imported.
    """
    try:
        return load_target(info.target)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise DriverBroken(broken_message(info, error)) from error


def broken_message(info: Offer, error: BaseException, what: str = "cannot be loaded from") -> str:
    """One text that names the driver, its distribution, its fault, and the cause."""
    return (
        f"{info.kind}: {info.name!r} of {info.distribution} {info.version} {what} "
        f"{info.target}: {type(error).__name__}: {_in_one_line(error)}{own_line(info.target.partition(':')[0], error)}"
    )


def _in_one_line(error: BaseException) -> str:
    """Return an error's text without the line breaks and addresses of pydantic's, which lists every problem."""
    listed = getattr(error, "errors", None)
    if not (callable(listed) and type(error).__module__.startswith("pydantic")):
        return str(error)
    problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in listed(include_url=False)]
    more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
    return f"{getattr(error, 'title', '')}: {'; '.join(problems[:MOST_PROBLEMS])}{more}"


def _check_contract(info: Offer, driver: Any, contract: str) -> None:
    stated = getattr(driver, "contract", None)
    if info.kind == "frameworks" and inspect.isfunction(driver):
        place = f'(File "{driver.__code__.co_filename}", line {driver.__code__.co_firstlineno})'
        raise ContractMismatch(
            f"{info.kind}: {driver.__name__} {place} is a function, but a framework is a BaseAgent class: give "
            "the function to trialbed.evaluate(), or run it with -f FILE.py:NAME"
        )
    if stated is None:
        raise ContractMismatch(
            f"{info.kind}: {info.name!r} of {info.distribution} {info.version} states no contract; state "
            f"contract = {contract!r} in {info.target}{OWN_AGENT if info.kind == 'frameworks' else ''}"
        )
    if stated != contract:
        raise ContractMismatch(
            f"{info.kind}: {info.name!r} of {info.distribution} {info.version} is written for contract "
            f"{stated!r}, but this Trialbed has contract {contract!r}; install a matching {info.distribution}"
        )


def _not_found(kind: str, name: str, installed: Sequence[str], known: Collection[str], advice: Advice | None) -> str:
    close = closest(name, {*installed, *known})
    more = advice(name, close, installed) if advice else ""
    one = kind.removesuffix("s").replace("_", " ")
    listed = ", ".join(installed) or "none, though Trialbed brings some: its installation has changed; try again"
    return f"the {one} {name!r} is not installed{did_you_mean(close)} Installed: {listed}.{more}"
