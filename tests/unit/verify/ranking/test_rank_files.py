"""The folder of ranks that Agent Vendor Verifier writes and reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from trialbed.cli import cli
from trialbed.errors import DataError
from trialbed_verify.ranking import is_rank_folder, rank, read_rank_files, write_rank_files

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
