"""The memory in front of the cache is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialbed_server.cache import OVERHEAD, CachedResponse, Recent

ITEM = OVERHEAD + 10


def response(size: int = 10) -> CachedResponse:
    return CachedResponse(b"x" * size, "template")


def test_items_not_used_for_long_go_and_used_ones_stay() -> None:
    recent = Recent(20 * ITEM)
    for number in range(100):
        recent.put(str(number), response())
        assert recent.get(str(number)) == response()
        assert recent.get("0") == response()
    assert recent.get("80") is None
    assert recent.get("82") == response()


def test_an_item_too_large_is_not_kept() -> None:
    recent = Recent(10 * ITEM)
    recent.put("huge", response(100 * ITEM))
    assert recent.get("huge") is None
    recent.put("small", response())
    assert recent.get("small") == response()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh"), st.integers(0, 2000)), max_size=200))
def test_it_never_holds_more_than_its_capacity_nor_a_wrong_item(steps: list[tuple[bool, str, int]]) -> None:
    recent = Recent(10_000)
    latest: dict[str, CachedResponse] = {}
    for put, key, size in steps:
        if put:
            latest[key] = response(size)
            recent.put(key, latest[key])
        else:
            assert recent.get(key) in (None, latest.get(key))
    held = [found for key in "abcdefgh" if (found := recent.get(key)) is not None]
    assert sum(len(one.body) + OVERHEAD for one in held) <= 10_000
