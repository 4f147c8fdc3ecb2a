"""What a trial must leave as it was."""

from __future__ import annotations

import json
import sys
from types import ModuleType

from trialbed.worker._loop import ProcessState


def test_more_modules_and_variables_are_no_change(monkeypatch):
    state = ProcessState()
    monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
    monkeypatch.setattr(json, "counter", 1, raising=False)
    assert state.change() == ""


def test_a_removed_module_is_a_change(monkeypatch):
    monkeypatch.setitem(sys.modules, "removed_later", ModuleType("removed_later"))
    state = ProcessState()
    del sys.modules["removed_later"]
    assert state.change() == "1 imported module(s) were removed, such as removed_later"


def test_a_replaced_function_is_a_change(monkeypatch):
    state = ProcessState()
    assert state.change() == ""
    monkeypatch.setattr(json, "dumps", print)
    assert state.change() == "json.dumps was replaced"
    assert state.change() == "json.dumps was replaced"


def test_a_function_that_is_put_back_is_no_change(monkeypatch):
    state = ProcessState()
    with monkeypatch.context() as patched:
        patched.setattr(json, "dumps", print)
    assert state.change() == ""
    monkeypatch.delattr(json, "dumps")
    assert state.change() == "json.dumps was replaced"
