"""The ranks of vendors as records."""

from __future__ import annotations

from trialbed.statistics import Estimate
from trialbed_verify.ranking import METRICS, RankedVendor, rank
from trialbed_verify.tables import ranking_records

SOUND = {"success_rate": Estimate(1.0)}


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
