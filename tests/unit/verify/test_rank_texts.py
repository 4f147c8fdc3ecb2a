"""The ranks of vendors in words."""

from __future__ import annotations

from typing import Any

from trialbed.statistics import Estimate
from trialbed_verify.ranking import METRICS, RankedVendor, Standings, rank
from trialbed_verify.tables import rank_sentence, ranking_records

SOUND = {"success_rate": Estimate(1.0)}


def placing(
    vendor: str, rank: int | None = None, tied: tuple[str, ...] = (), *, tie: bool = False, **more: Any
) -> RankedVendor:
    found = {"status": "ranked", "rank": rank, "tie": tie, **more}
    metrics = {metric: Estimate(1.0) for metric in METRICS}
    return RankedVendor("m", vendor, metrics, tied_with=tuple(("m", name) for name in tied), **found)


def test_the_sentence_says_who_leads_whether_that_is_shown_and_who_has_no_rank() -> None:
    first, second = placing("acme", 1), placing("bolt", 2)
    assert rank_sentence("m", Standings("acme", (first, second), (), ())) == "m: acme ranks first."
    tied = placing("acme", 1, ("bolt",))
    last = placing("cut", status="behind", reasons=("it differs in what callers rely on (calls)",))
    gone = [placing(name, status="not_ranked", reasons=("its answers break",)) for name in ("dead", "down")]
    assert rank_sentence("m", Standings("acme", (tied, second), (last,), (*gone,))) == (
        "m: acme leads, but is not shown to be ahead of bolt; cut is placed last: it differs in what callers rely on "
        "(calls); dead and down are not ranked: its answers break."
    )


def test_vendors_with_equal_scores_share_the_first_rank() -> None:
    both = placing("acme", 1, ("bolt", "cut"), tie=True), placing("bolt", 1, ("acme", "cut"), tie=True)
    assert rank_sentence("m", Standings("acme", (*both, placing("cut", 3)), (), ())) == (
        "m: acme and bolt share the first rank, as their scores are equal, and are not shown to be ahead of cut."
    )


def test_a_record_has_the_place_in_its_model_and_among_all() -> None:
    values = {"acme": 0.9, "bolt": 0.8}
    models = {"m": ("acme", "bolt"), "n": ("bolt",)}
    found = ranking_records(
        rank(
            [
                RankedVendor(model, name, {metric: Estimate(values[name]) for metric in METRICS} | SOUND)
                for model, names in models.items()
                for name in names
            ]
        )
    )
    assert [(one["model"], one["vendor"], one["rank"], one["global_rank"]) for one in found] == [
        ("m", "acme", 1, 1), ("m", "bolt", 2, 2), ("n", "bolt", 1, 2),
    ]  # fmt: skip
    first, second, alone = (one["irf"] for one in found)
    assert alone == 1.0 > first > second > 0
    assert (found[0]["f1"], found[0]["status"], found[0]["reasons"], found[0]["panel"]) == (0.9, "ranked", "", None)
