"""The ranks of vendors in words."""

from __future__ import annotations

from typing import Any

from trialbed.statistics import Estimate
from trialbed_verify.ranking import METRICS, Placing, Standings, VendorMetrics
from trialbed_verify.views import rank_sentence


def placing(vendor: str, status: Any = "ranked", tied: tuple[str, ...] = (), reasons: tuple[str, ...] = ()) -> Placing:
    made = VendorMetrics("m", vendor, {metric: Estimate(1.0) for metric in METRICS})
    return Placing(made, status, tied_with=tuple(("m", name) for name in tied), reasons=reasons)


def test_the_sentence_says_who_leads_whether_that_is_shown_and_who_has_no_rank() -> None:
    first, second = placing("acme"), placing("bolt")
    assert rank_sentence("m", Standings("acme", (first, second), (), ())) == "m: acme ranks first."
    tied = placing("acme", tied=("bolt",))
    last = placing("cut", "behind", reasons=("it differs in what callers rely on (calls)",))
    gone = [placing(name, "not_ranked", reasons=("its answers break",)) for name in ("dead", "down")]
    assert rank_sentence("m", Standings("acme", (tied, second), (last,), (*gone,))) == (
        "m: acme leads, but is not shown to be ahead of bolt; cut is placed last: it differs in what callers rely on "
        "(calls); dead and down are not ranked: its answers break."
    )
