"""The limits of a scoring process on systems that have none."""

from __future__ import annotations

import signal
import sys

import pytest

from trialbed.scoring_process import __main__ as scoring_process


def test_it_works_without_limits_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.delattr(signal, "setitimer")
    scoring_process._limit_memory()
    scoring_process._limit_work(60)
