"""The words of a comparison."""

from __future__ import annotations

from trialbed.report.comparison._tables import changed


def test_queries_that_changed_are_in_order_and_some_are_left_to_the_document() -> None:
    assert changed({"worse": [10, 2, "b", "a"], "better": [7]}) == "worse on queries 2, 10, a, b; better on query 7"
    assert changed({"worse": [], "better": []}) == ""
    many = changed({"worse": list(range(1030)), "better": []})
    assert many.endswith("18, 19 and 1,010 more (--json has all)")
