"""Every type that a public signature, record field or hook names can be imported from ``trialbed``."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click
from numpy.typing import NDArray
from pydantic import BaseModel

import trialbed
import trialbed.conversations
import trialbed.metrics
import trialbed.report
import trialbed.wire
from trialbed import hookspecs
from trialbed.plugins import empty_manager

PUBLIC = {name: getattr(trialbed, name) for name in trialbed.__all__}
HOOKS = {name: getattr(hookspecs, name) for name in vars(empty_manager().hook) if not name.startswith("_")}
MODULES = (trialbed.wire, trialbed.conversations, trialbed.metrics, trialbed.report)
"""The public modules beside ``trialbed`` itself."""
OURS = ("trialbed", "trialbed_plugins", "trialbed_server", "trialbed_selection")
INHERITED = {"model_config", "model_fields", "model_computed_fields"}


def named_types(item: Any) -> Iterator[tuple[str, Any]]:
    """``where -> type`` of everything that the annotations of a class or function name."""
    if not inspect.isclass(item):
        yield from hints_of(item, getattr(item, "__name__", repr(item)))
        return
    if item.__module__.split(".")[0] in OURS:
        attributes = get_type_hints(item, localns=namespace())
        yield from ((f"{item.__name__}.{name}", hint) for name, hint in attributes.items() if is_public(name))
    for name, member in inspect.getmembers_static(item):
        if is_public(name) or (name == "__init__" and not issubclass(item, BaseModel)):
            for function in functions_of(member):
                yield from hints_of(function, f"{item.__name__}.{name}")


def is_public(name: str) -> bool:
    return not name.startswith("_") and name not in INHERITED


def functions_of(member: Any) -> Iterator[Callable[..., Any]]:
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    elif isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    if isinstance(member, types.FunctionType) and member.__module__.split(".")[0] in OURS:
        yield member


def hints_of(function: Any, where: str) -> Iterator[tuple[str, Any]]:
    function = inspect.unwrap(function) if callable(function) else function  # lru_cache keeps annotations to itself
    if isinstance(function, types.FunctionType):
        hints = get_type_hints(function, localns=namespace())
        # An argument with an underscore is not for users, such as the store of a run that a reader returns.
        yield from ((f"{where}({name})", hint) for name, hint in hints.items() if not name.startswith("_"))


def namespace() -> dict[str, Any]:
    """What annotations may name that are imported for type checkers only."""
    report = {name: getattr(trialbed.report, name) for name in trialbed.report.__all__}
    return {**report, **PUBLIC, "NDArray": NDArray, "click": click}


def parts_of(hint: Any) -> Iterator[Any]:
    """The hint and everything in it; a literal stays whole."""
    yield hint
    if get_origin(hint) is Literal:
        return
    inner = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    for part in inner:
        for one in part if isinstance(part, list) else [part]:
            yield from parts_of(one)


def is_ours(part: Any) -> bool:
    module = part.__module__ if inspect.isclass(part) else ""
    return module.split(".")[0] in OURS or get_origin(part) is Literal


def test_the_types_that_public_names_need_are_public() -> None:
    public = [*PUBLIC.values(), *(getattr(one, name) for one in MODULES for name in one.__all__)]
    for item in (HOOKS | PUBLIC).values():
        needed = {where: part for where, hint in named_types(item) for part in parts_of(hint) if is_ours(part)}
        assert {where: part for where, part in needed.items() if part not in public} == {}


def test_the_classes_that_public_modules_need_are_public() -> None:
    public = [*PUBLIC.values(), *(getattr(one, name) for one in MODULES for name in one.__all__)]
    for module in MODULES:
        found = [hint for name in module.__all__ for hint in named_types(getattr(module, name))]
        classes = {
            where: part for where, hint in found for part in parts_of(hint) if inspect.isclass(part) and is_ours(part)
        }
        assert classes
        assert not {where for where, part in classes.items() if part not in public}
