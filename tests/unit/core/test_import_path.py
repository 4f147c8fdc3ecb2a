"""The folders in which modules are looked for."""

from __future__ import annotations

import os
import sys

import pytest

from trialbed.import_path import put_first, put_last, take_away


@pytest.fixture(autouse=True)
def few_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/lib"])
    monkeypatch.setenv("PYTHONPATH", "/other")


def test_processes_that_are_started_look_in_the_first_folder_too() -> None:
    put_first("/mine")
    put_first("/mine")
    assert (sys.path, os.environ["PYTHONPATH"]) == (["/mine", "/lib"], os.pathsep.join(["/mine", "/other"]))
    take_away("/mine")
    assert (sys.path, os.environ["PYTHONPATH"]) == (["/lib"], "/other")


def test_a_variable_that_was_not_set_is_not_set_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    put_first("/mine")
    take_away("/mine")
    assert "PYTHONPATH" not in os.environ


def test_a_folder_that_comes_last_is_there_once() -> None:
    put_last("/mine")
    put_last("/mine")
    assert (sys.path, os.environ["PYTHONPATH"]) == (["/lib", "/mine"], "/other")
