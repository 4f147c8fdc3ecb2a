"""Being like a worker for a while."""

from __future__ import annotations

import os

import pytest

from trialbed.worker import WORKER_MARK
from trialbed_adapter_lab import like_a_worker


def test_keys_and_endpoints_go_and_opt_outs_come(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org")
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    before = dict(os.environ)
    with like_a_worker():
        assert "OPENAI_API_KEY" not in os.environ
        assert "OPENAI_BASE_URL" not in os.environ
        assert os.environ["DO_NOT_TRACK"] == "1"
        assert WORKER_MARK not in os.environ
    assert dict(os.environ) == before


def test_what_others_set_meanwhile_stays(monkeypatch):
    monkeypatch.delenv("SET_MEANWHILE", raising=False)
    with like_a_worker():
        monkeypatch.setenv("SET_MEANWHILE", "yes")
    assert os.environ["SET_MEANWHILE"] == "yes"


def test_it_is_undone_after_a_failure(monkeypatch):
    before = dict(os.environ)
    with pytest.raises(ValueError, match="no"), like_a_worker():
        raise ValueError("no")
    assert dict(os.environ) == before
