"""Tables and folders of ranks, as other tools write them."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from trialbed.cli import cli
from trialbed.errors import DataError
from trialbed_verify.ranking import RankedVendor, is_rank_folder, rank, read_rank_files, read_table, write_rank_files

HEADER = "model,vendor,success_rate,f1,tps,schema_accuracy,ttft_ms,avg_token"


def values_of(vendor: RankedVendor) -> dict[str, float]:
    return {metric: found.value for metric, found in vendor.metrics.items() if found.value is not None}


def table(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join([header, *lines]))
    return path


def test_columns_are_found_by_name_and_others_passed_over(tmp_path: Path) -> None:
    header = "vendor, irf, model,avg_token,ttft_ms,schema_accuracy,tps,f1,success_rate"
    (found,) = read_table(table(tmp_path, "acme, 0.9, m, 1500, 300, 0.9, 50, 0.8, 1", header=header))
    assert found.name == ("m", "acme")
    assert values_of(found) == {
        "success_rate": 1.0,
        "f1": 0.8,
        "tps": 50.0,
        "schema_accuracy": 0.9,
        "ttft_ms": 300.0,
        "avg_token": 1500.0,
    }


def test_an_empty_cell_and_an_impossible_zero_are_missing(tmp_path: Path) -> None:
    (found,) = read_table(table(tmp_path, "m,acme,0,0,0,,0,0"))
    assert values_of(found) == {"success_rate": 0.0, "f1": 0.0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("m,acme,98.5,0.8,50,0.9,300,1500", "line 2: success_rate is '98.5', but must be a number from 0 to 1"),
        ("m,acme,1,fast,50,0.9,300,1500", "line 2: f1 is 'fast', but must be a number from 0 to 1"),
        ("m,acme,1,0.8,-5,0.9,300,1500", "line 2: tps is '-5', but must be a number of at least 0"),
        ("m,acme,1,0.8,inf,0.9,300,1500", "line 2: tps is 'inf'"),
        ("m,,1,0.8,50,0.9,300,1500", "line 2: vendor is empty"),
        ("m,acme,1,0.8,50,0.9,1,300,1500", "line 2: more cells than the table has columns"),
    ],
)
def test_an_error_names_line_and_column(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(table(tmp_path, line))
    assert message in str(caught.value)


ORIGINAL = {
    "success_rate": {"m": {"official": 1.0, "acme": 0.99, "dead": 0.0}},
    "f1_score": {"m": {"official": 1.0, "acme": 0.8, "dead": 1.0}},
    "avg_throughput": {"m": {"official": 50.0, "acme": 60.0, "dead": 0}},
    "schema_accuracy": {"m": {"official": 0.9, "acme": 0.95, "dead": 0}},
    "avg_ttft_ms": {"m": {"official": 300.0, "acme": 250.0, "dead": 0}},
    "avg_tokens": {"m": {"official": 1500.0, "acme": 1600.0, "dead": 0.0}},
    "irf_score": {"m": {"official": 0.87, "acme": 0.86, "dead": 0.8512}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rank").mkdir()
    for name, content in ORIGINAL.items():
        (tmp_path / "rank" / f"{name}.json").write_text(json.dumps(content))
    return tmp_path / "rank"


def test_a_folder_of_the_original_is_ranked_without_vendors_that_never_answer(folder: Path) -> None:
    printed = CliRunner().invoke(cli, ["rank", str(folder), "--json"])
    (found,) = json.loads(printed.output)["models"]
    assert {row["vendor"] for row in found["ranked"]} == {"acme", "official"}
    assert [row["vendor"] for row in found["not_ranked"]] == ["dead"]


def test_what_is_written_is_read_again(candidate: Any, tmp_path: Path) -> None:
    ranking = rank([candidate("good"), candidate("slow", tps=1.0), candidate("dead", success_rate=0.0, tps=None)])
    write_rank_files(ranking, tmp_path / "rank")
    assert is_rank_folder(tmp_path / "rank")
    assert rank(read_rank_files(tmp_path / "rank")).as_json() == ranking.as_json()
    throughput, scores = (
        json.loads((tmp_path / "rank" / f"{n}.json").read_text()) for n in ("avg_throughput", "irf_score")
    )
    assert throughput == {"m": {"good": 50.0, "slow": 1.0}}
    assert set(scores["m"]) == {"good", "slow"}


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"m": 5}', '{"m": {"a": "x"}}', '{"m": {"a": -1}}', '{"m": {"a": true}}']
)
def test_another_form_is_named_with_its_file(content: str, folder: Path) -> None:
    (folder / "f1_score.json").write_text(content)
    with pytest.raises(DataError, match=r"f1_score\.json"):
        read_rank_files(folder)


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


def test_a_score_is_the_sum_over_the_ranks() -> None:
    (gemini,) = [
        found for found in rank(read_table(COPIED)).as_json()["models"] if found["model"] == "gemini-2.5-flash"
    ]
    # First in success, F1, TPS and TTFT; second in schema accuracy and tokens.
    assert Fraction(gemini["ranked"][0]["irf_exact"]) == Fraction(4, 6) + Fraction(2, 7)
