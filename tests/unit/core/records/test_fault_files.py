"""The plans of ``--faults``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.records import read_fault_plan


@for_each(
    ("plan", "place"),
    [
        ({"tools": {"rate": 2}}, "tools.rate"),
        ({"tools": {"rate": float("nan")}}, "tools.rate"),
        ({"tools": {"rate": 1, "faults": ["odd"]}}, "tools.faults.0"),
        ({"tools": {"rate": 1}, "hang_seconds": float("inf")}, "hang_seconds"),
        ({"model": {"rate": 1}, "slow_seconds": 0}, "slow_seconds"),
        ({"tools": {"rate": 1}, "huge_bytes": 10**12}, "huge_bytes"),
    ],
)
def test_a_plan_that_cannot_be_kept_is_refused_where_it_is_wrong(plan: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=f"--faults: {place}: Input should be"):
        read_fault_plan(json.dumps(plan))
