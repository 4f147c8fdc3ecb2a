"""What a session does around its trials."""

import gc

import pytest

from trialbed.engine._session import _frozen_heap


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: calls.append("unfreeze"))
    return calls


def test_the_heap_is_frozen_while_trials_run(called: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    with _frozen_heap():
        assert called == ["freeze"]
    assert called == ["freeze", "unfreeze"]


def test_what_the_program_itself_has_frozen_stays_so(called: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    with _frozen_heap():
        pass
    assert called == []
