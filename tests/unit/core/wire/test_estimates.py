from __future__ import annotations

from support.cases import for_each

from trialbed.wire.estimates import compact_bytes, estimated_tokens


@for_each(("value", "size"), [({"a": [1, 2]}, 11), ("æ", 4), ("", 2), (None, 4)])
def test_bytes_are_those_of_compact_json_in_utf_8(value: object, size: int) -> None:
    assert compact_bytes(value) == size


@for_each(("value", "tokens"), [("", 1), ("ab", 1), ("abc", 2), ("x" * 6, 2), ("x" * 7, 3)])
def test_a_token_stands_for_four_bytes_begun(value: str, tokens: int) -> None:
    assert estimated_tokens(value) == tokens


def test_half_a_character_can_be_counted() -> None:
    assert compact_bytes("\ud800") == 3
