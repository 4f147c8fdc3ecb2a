"""Ranking by some of the six metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import DataError
from trialbed_verify.ranking import METRICS, rank, read_table
from trialbed_verify.tables import ranking_tables

UNSTREAMED = {"tps": None, "ttft_ms": None}


def names(rows: Any) -> list[str]:
    return [row["vendor"] for row in rows]


def test_times_that_a_vendor_lacks_do_not_count(candidate: Any) -> None:
    vendors = [
        candidate("a", **UNSTREAMED),
        candidate("b", f1=0.9, **UNSTREAMED),
        candidate("dead", success_rate=0.0, f1=None, schema_accuracy=None, avg_token=None),
        candidate("inverted", f1=0.1, avg_token=None),
    ]
    ranking = rank(vendors)
    found = ranking.as_json()
    assert found["metrics"] == ["success_rate", "f1", "schema_accuracy", "avg_token"]
    (standing,) = found["models"]
    assert [names(standing[key]) for key in ("ranked", "behind", "not_ranked")] == [
        ["b", "a"],
        [],
        ["dead", "inverted"],
    ]
    assert "Not ranked by tokens/s; missing for a (m), b (m)" in found["notes"]
    assert any("TTFT" in note and "--stream" in note for note in found["notes"])
    title = ranking_tables(ranking)[0].title
    assert title == "m: ranked over 4 of six metrics"


def test_the_score_is_explained_once_and_only_where_somebody_is_ranked(candidate: Any) -> None:
    unranked = [candidate(name, "dull", schema_accuracy=None) for name in "ab"]
    tables = ranking_tables(rank([*unranked, *(candidate(name, model) for model in "mn" for name in "ab")]))
    assert ["IRF" in " ".join(table.notes) for table in tables] == [False, False, False, True]
    assert sum("IRF, inverse rank fusion" in note for table in tables for note in table.notes) == 1
    assert not any("IRF" in note for table in ranking_tables(rank(unranked)) for note in table.notes)


def test_chosen_metrics_alone_count(candidate: Any) -> None:
    fast, exact = candidate("fast", tps=99.0, f1=0.7), candidate("exact")
    assert names(rank([fast, exact], metrics=("tps",)).as_json()["models"][0]["ranked"]) == [
        "fast",
        "exact",
    ]
    assert names(rank([fast, exact], metrics=("f1",)).as_json()["models"][0]["ranked"]) == [
        "exact",
        "fast",
    ]
    assert rank([fast, exact]).as_json()["metrics"] == list(METRICS)


def test_a_table_needs_only_the_columns_of_chosen_metrics(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,vendor,f1\nm,a,0.9\nm,b,0.8\n")
    found = rank(read_table(path, ("f1",)), metrics=("f1",)).as_json()
    assert names(found["models"][0]["ranked"]) == ["a", "b"]
    with pytest.raises(DataError, match="missing columns"):
        read_table(path)
