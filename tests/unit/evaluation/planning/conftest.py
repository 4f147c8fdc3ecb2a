"""Result documents with chosen scores, and plans that are not about powers."""

import pytest
from support.written_documents import write

__all__ = ["write"]


@pytest.fixture
def few_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few comparisons in place of hundreds: the powers that are found are rough."""
    monkeypatch.setattr("trialbed_evaluation.planning._power.GUESSES", (10, 10, 10, 10))
    monkeypatch.setattr("trialbed_evaluation.planning._power.SIGNS", 19)
