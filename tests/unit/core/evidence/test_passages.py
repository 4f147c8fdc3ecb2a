"""Values that are looked for in many texts."""

from __future__ import annotations

import pytest
from support.cases import for_each

from trialbed.evidence import Passages

TEXTS = ["In Ulm it is 21.50 °C.", "On 3 May 2026", "**", "nothing of note, twenty"]

ENOUGH = [TEXTS, [*TEXTS, *["another one"] * 8]]
"""Few texts, and more."""


@for_each("texts", ENOUGH, ids=("few", "many"))
@for_each("value", ["21.5", "Ulm", "2026-05-03", "**", "note", "1.5", "Ulm 21.5", "2026-05-04", "", "--"])
def test_a_value_is_found_as_in_each_text_alone(value: str, texts: list[str]) -> None:
    assert Passages(texts).mention(value) is any(Passages([text]).mention(value) for text in texts)


@pytest.mark.parametrize("texts", ENOUGH, ids=("few", "many"))
def test_earlier_texts_can_be_left_out(texts: list[str]) -> None:
    passages = Passages(texts)
    assert passages.mention("Ulm", 0)
    assert not passages.mention("Ulm", 1)
    assert passages.mention("2026-05-03", 1)
    assert not passages.mention("2026-05-03", 2)
    assert not passages.mention("Ulm", len(texts))
