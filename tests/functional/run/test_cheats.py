"""Ways to be scored for answers that are known: each is worthless, and named where it leaves a trace."""

from __future__ import annotations

import pytest
from support.warm import warm_programs

from trialbed_adapter_lab.hostile import CHEATS, run_cheats

pytestmark = pytest.mark.slow(80)


def test_every_cheat_is_worthless_and_named() -> None:
    with warm_programs():
        found = run_cheats("reference")
    # They run together by their models.
    assert sorted((result.cheat, result.model) for result in found) == sorted((one.name, one.model) for one in CHEATS)
    assert [result for result in found if not result.held] == []
