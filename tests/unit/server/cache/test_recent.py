"""The memory in front of the cache is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialbed_server.cache import OVERHEAD, Recent

ITEM = OVERHEAD + 10


def test_items_not_used_for_long_go_and_used_ones_stay() -> None:
    recent: Recent[str] = Recent(20 * ITEM, lambda _: 10)
    for number in range(100):
        recent.put(str(number), str(number))
        assert recent.get(str(number)) == str(number)
        assert recent.get("0") == "0"
    assert recent.get("50") is None
    assert recent.get("95") == "95"


def test_an_item_too_large_is_not_kept() -> None:
    recent: Recent[str] = Recent(10 * ITEM, len)
    recent.put("small", "small")
    recent.put("huge", "huge" * ITEM * 100)
    assert recent.get("huge") is None
    assert recent.get("small") == "small"


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh"), st.integers(0, 2000)), max_size=200))
def test_it_never_holds_more_than_its_capacity_nor_a_wrong_item(steps: list[tuple[bool, str, int]]) -> None:
    recent: Recent[tuple[str, int]] = Recent(10_000, lambda value: value[1])
    latest: dict[str, tuple[str, int]] = {}
    for put, key, size in steps:
        if put:
            latest[key] = (key, size)
            recent.put(key, latest[key])
        else:
            assert recent.get(key) in (None, latest.get(key))
        held = {**recent._old, **recent._young}
        assert sum(size + OVERHEAD for _, size in held.values()) <= 10_000 + OVERHEAD + 2000
