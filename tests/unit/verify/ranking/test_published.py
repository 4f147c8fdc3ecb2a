"""All 27 rows of the eight published tables, to four decimals."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

from trialbed_verify.ranking import rank, read_table

COPIED = Path(__file__).parents[3] / "support" / "published_irf.csv"


def scores(table: Path) -> dict[tuple[str, str], dict[str, Any]]:
    document = rank(read_table(table)).as_json()
    return {(row["model"], row["vendor"]): row for found in document["models"] for row in found["ranked"]}


def test_the_copied_figures_give_every_published_score() -> None:
    found = scores(COPIED)
    with COPIED.open() as file:
        expected = {(row["model"], row["vendor"]): row["irf"] for row in csv.DictReader(file)}
    assert len(expected) == 27
    assert {name: f"{row['irf']:.4f}" for name, row in found.items()} == expected


def test_equal_success_rates_share_their_average_rank() -> None:
    found = scores(COPIED)
    haiku = [row for (model, _), row in found.items() if model == "claude-haiku-4.5"]
    assert {row["ranks"]["success_rate"] for row in haiku} == {2.5}


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    first, *rows = COPIED.read_text().splitlines()
    (tmp_path / "reversed.csv").write_text("\n".join([first, *reversed(rows)]))
    turned, straight = scores(tmp_path / "reversed.csv"), scores(COPIED)
    assert {name: row["irf_exact"] for name, row in turned.items()} == {
        name: row["irf_exact"] for name, row in straight.items()
    }


def test_all_models_are_ranked_together_too() -> None:
    everyone = rank(read_table(COPIED)).as_json()["global"]["ranked"]
    assert len(everyone) == 27
    assert [row["rank"] for row in everyone] == sorted(row["rank"] for row in everyone)


def test_a_score_is_the_sum_over_the_ranks() -> None:
    (gemini,) = [
        found for found in rank(read_table(COPIED)).as_json()["models"] if found["model"] == "gemini-2.5-flash"
    ]
    # First in success, F1, TPS and TTFT; second in schema accuracy and tokens.
    assert Fraction(gemini["ranked"][0]["irf_exact"]) == Fraction(4, 6) + Fraction(2, 7)
