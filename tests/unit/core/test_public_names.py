"""The names that packages offer are there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import trialbed

ROOT = Path(__file__).parents[3]
PACKAGES = [
    ".".join(file.parent.relative_to(ROOT / root).parts)
    for root in ("core", "server", "tool_selection", "plugins")
    for file in sorted((ROOT / root).rglob("__init__.py"))
    if "__all__" in file.read_text(encoding="utf-8")
]


def test_every_name_that_a_package_offers_is_there() -> None:
    assert {"trialbed", "trialbed.records", "trialbed_server", "trialbed_selection"} <= set(PACKAGES)
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            assert getattr(module, name) is not None, f"{package}.{name}"
            assert name in dir(module), f"{package}.{name}"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = trialbed.no_such_name
    assert trialbed.__version__[0].isdigit()
