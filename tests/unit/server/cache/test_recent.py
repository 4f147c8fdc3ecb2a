"""The memory in front of the cache is bounded."""

from __future__ import annotations

from trialbed_server.cache._recent import OVERHEAD, Recent


def test_the_item_used_longest_ago_goes_first() -> None:
    recent: Recent[str] = Recent(3 * (OVERHEAD + 10))
    for key in "abc":
        recent.put(key, key, 10)
    assert recent.get("a") == "a"
    recent.put("d", "d", 10)
    assert [recent.get(key) for key in "abcd"] == ["a", None, "c", "d"]


def test_an_item_that_is_replaced_is_counted_once_and_one_too_large_is_not_kept() -> None:
    recent: Recent[str] = Recent(2 * (OVERHEAD + 10))
    for _ in range(10):
        recent.put("a", "a", 10)
    recent.put("b", "b", 10)
    assert recent.get("a") == "a"
    recent.put("huge", "huge", 10_000)
    assert recent.get("huge") is None
