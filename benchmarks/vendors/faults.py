"""Faults of played vendors, which change an answer, and say whether that would break a caller."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy

from vendors.answers import TOOLS, Case, Random, Row, arguments_of, call_of, calls_of, message_of, row

Fault = Callable[[Case, Row, Random], bool]
"""Changes a row; returns whether what it did breaks a caller."""

BIG = 1 << 53
SHORT = 150


def sometimes(share: float, fault: Fault) -> Fault:
    """Apply a fault to a share of the answers."""
    return lambda case, one, random: bool(random.random() < share) and fault(case, one, random)


def where(condition: Callable[[Case], bool], fault: Fault) -> Fault:
    """Apply a fault to the cases that have something."""
    return lambda case, one, random: condition(case) and fault(case, one, random)


def both(*faults: Fault) -> Fault:
    """Apply several faults, each to what the one before left."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        # All are applied, so none is left out after the first that breaks something.
        broken = [apply(case, one, random) for apply in faults if one["status"] == "success"]
        return any(broken)

    return fault


def in_calls(change: Callable[[Case, Row, Random], bool]) -> Fault:
    """Apply a change to every call."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        broken = [change(case, call, random) for call in calls_of(one)]
        return any(broken)

    return fault


def in_text(change: Callable[[str], str], *, breaks: bool = True) -> Fault:
    """Apply a change to the text."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        text = message_of(one)["content"]
        if not text or "response_format" in case.parameters:
            return False
        message_of(one)["content"] = change(text)
        return breaks and change(text) != text

    return fault


def wrong_tool(case: Case, call: Row, random: Random) -> bool:
    """Call another tool."""
    call["function"]["name"] = f"tool_{(case.tool + 7) % TOOLS}"
    return True


def renamed(case: Case, call: Row, random: Random) -> bool:
    """Put a prefix before the tool's name."""
    call["function"]["name"] = f"functions.{call['function']['name']}"
    return True


def changed(change: Callable[[Case, Row, Random], Row], *, ascii_only: bool = False) -> Fault:
    """Change the arguments of every call."""

    def one_call(case: Case, call: Row, random: Random) -> bool:
        before = arguments_of(call)
        after = change(case, dict(before), random)
        call["function"]["arguments"] = json.dumps(after, ensure_ascii=ascii_only)
        return after != before

    return in_calls(one_call)


def without(name: str) -> Fault:
    """Leave an argument out."""
    return changed(lambda case, given, random: {key: value for key, value in given.items() if key != name})


def invalid(fault: Fault) -> Fault:
    """Apply a fault after which calls do not fit their schemas."""

    def checked(case: Case, one: Row, random: Random) -> bool:
        broken = fault(case, one, random)
        if broken:
            one["tool_calls_valid"] = False
        return broken

    return checked


def twice(case: Case, one: Row, random: Random) -> bool:
    """Send every call twice."""
    if not calls_of(one):
        return False
    message_of(one)["tool_calls"] = calls_of(one) * 2
    return True


def first_only(case: Case, one: Row, random: Random) -> bool:
    """Send the first of several calls only."""
    several = len(calls_of(one)) > 1
    if several:
        message_of(one)["tool_calls"] = calls_of(one)[:1]
    return several


def said_instead(case: Case, one: Row, random: Random) -> bool:
    """Say something instead of a due call."""
    if not calls_of(one):
        return False
    message_of(one).pop("tool_calls")
    message_of(one)["content"] = "I will look that up for you."
    one["response"]["choices"][0]["finish_reason"] = "stop"
    return True


def refused(case: Case, one: Row, random: Random) -> bool:
    """Refuse the request."""
    message_of(one).pop("tool_calls", None)
    message_of(one)["content"] = "I am sorry, but I cannot help with that."
    one["response"]["choices"][0]["finish_reason"] = "stop"
    return True


def failed(case: Case, one: Row, random: Random) -> bool:
    """Give no answer."""
    one |= {"status": "failed", "problem": {"kind": "error_event"}}
    return True


def ended_with(reason: str) -> Fault:
    """End texts with another finish reason."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        if calls_of(one):
            return False
        one["response"]["choices"][0]["finish_reason"] = reason
        return True

    return fault


def not_json(case: Case, call: Row, random: Random) -> bool:
    """Cut the arguments of a call."""
    call["function"]["arguments"] = call["function"]["arguments"][:-8]
    return True


def counts(prompt: Callable[[int], int], completion: Callable[[int], int] = lambda count: count) -> Fault:
    """Count tokens otherwise."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        one["counted"] = {"prompt": prompt, "completion": completion}
        return False

    return fault


def times(factor: float) -> Callable[[int], int]:
    """Return a function that multiplies counts."""
    return lambda count: round(count * factor)


def more(offset: int) -> Callable[[int], int]:
    """Return a function that adds to counts."""
    return lambda count: count + offset


def named(model: str) -> Fault:
    """Name another model."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        one["response"]["model"] = model
        return False

    return fault


def stops_at(case: Case, one: Row, random: Random) -> bool:
    """Write on after the stop sequence."""
    text = message_of(one)["content"]
    if not text or "stop" not in case.parameters or random.random() > 0.7:
        return False
    message_of(one)["content"] = text.replace("lake", "river")
    return "lake" in text


def repeated(*, ids: bool) -> Fault:
    """Give the first answer to a case each time, with its id or with a new one."""
    first: dict[int, Row] = {}

    def fault(case: Case, one: Row, random: Random) -> bool:
        if case.number not in first:
            first.clear()
            first[case.number] = deepcopy(one["response"])
        kept = first[case.number]
        one["response"] = deepcopy(kept if ids else {**kept, "id": one["response"]["id"]})
        return False

    return fault


def varies_anyway(parameter: str) -> Fault:
    """Sample, although a parameter asks for the same answer each time."""

    def fault(case: Case, one: Row, random: Random) -> bool:
        if parameter in case.parameters:
            one["response"] = row(case, one["trial"], calls=bool(calls_of(one)), random=random)["response"]
        return False

    return fault


def one_more(case: Case, one: Row, random: Random) -> bool:
    """Call a second tool if only one may be called."""
    if not calls_of(one) or "parallel_tool_calls" not in case.parameters:
        return False
    message_of(one)["tool_calls"].append(call_of(case, 1, random))
    return True


def late(case: Case, one: Row, random: Random) -> bool:
    """Answer three seconds later."""
    one["duration_ms"] += 3000
    return False


def set_argument(name: str, value: Callable[[Row], object]) -> Fault:
    """Change the value of one argument."""
    return changed(lambda case, given, random: {**given, name: value(given)} if name in given else given)


def off_by_one(given: Row) -> object:
    """Return another number of days."""
    return given["days"] + 1


def mangled(given: Row) -> object:
    """Return the place with its other letters broken."""
    return given["city"].replace("ü", "Ã¼")


def rounded(given: Row) -> object:
    """Return the account as a double-precision number holds it."""
    return int(float(given["account"])) if given["account"] > BIG else given["account"]


GERMAN = "Das ist nicht so einfach, und die Stadt ist mit dem Fluss auf der anderen Seite zu sehen."

Vendors = Mapping[str, Fault]
