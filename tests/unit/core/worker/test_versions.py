"""Versions of dictionaries."""

from __future__ import annotations

import sys

import pytest

from trialbed.worker import _loop
from trialbed.worker._loop import DictVersions

KEPT = sys.implementation.name == "cpython" and sys.version_info < (3, 13)


@pytest.mark.skipif(not KEPT, reason="this Python does not promise versions of dictionaries")
def test_every_change_gives_another_version():
    changed, untouched = {"name": 1}, {"name": 1}
    versions = DictVersions([changed, untouched])
    seen = [versions.read()]
    changed["name"] = 2
    seen.append(versions.read())
    changed["more"] = 3
    seen.append(versions.read())
    del changed["name"]
    seen.append(versions.read())
    changed.clear()
    seen.append(versions.read())
    assert len({first for first, _ in seen}) == len(seen)
    assert len({second for _, second in seen}) == 1


def test_reading_changes_nothing():
    watched = {"name": 1}
    versions = DictVersions([watched])
    before = versions.read()
    assert watched.get("name") == 1
    assert list(watched.items()) == [("name", 1)]
    assert versions.read() == before


def test_another_interpreter_has_none(monkeypatch):
    monkeypatch.setattr(_loop.sys.implementation, "name", "other")
    assert DictVersions([{}]).read() is None
