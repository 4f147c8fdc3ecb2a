"""Result files of MASBench beside result documents: what both record is compared, and nothing is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.written_documents import Write

from trialbed.errors import DataError
from trialbed.report.comparison import compare_groups, is_document, read_groups


def original(folder: Path, name: str, scores: list[Any], *, evaluator: str = "gpt-4o-mini") -> Path:
    """Write a file in the form of MASBench's; text instead of scores is an error."""
    results: list[dict[str, Any]] = []
    for query_id, given in enumerate(scores, 1):
        entry = {"query_id": query_id, "query_text": "?", "gold_apis": [["Tool", "api"]], "called_apis": []}
        if isinstance(given, str):
            failed = {"sopr_score": 0.0, "api_call_score": 0.0, "answer_status": "Error"}
            results.append({**entry, "scores": failed, "error": given})
        else:
            solved, called = given
            own = {"sopr_score": solved, "api_call_score": called, "answer_status": "Solved"}
            results.append({**entry, "scores": own})
    about = {"agent_name": name, "test_set": "G1", "num_queries": len(scores), "evaluator_model": evaluator}
    document = {"metadata": about, "summary": {"average_api_call_score": 0.5}, "results": results}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def compared(baseline: Path, candidate: Path) -> Any:
    (found,) = compare_groups(read_groups([str(baseline), str(candidate)], None))
    return found


def test_result_files_of_masbench_are_compared(tmp_path: Path) -> None:
    first = original(tmp_path, "first", [(1.0, 0.5), (1.0, 0.0), (0.5, 1.0)])
    second = original(tmp_path, "second", [(1.0, 1.0), "it broke", (0.5, 1.0)])
    assert is_document(first)
    found = compared(first, second)
    assert [found.scores["sopr_score"][side] for side in ("baseline", "candidate")] == [2.5 / 3, 0.5]
    assert [found.scores["api_call_score"][change] for change in ("better", "worse")] == [1, 0]
    assert found.candidate.failures == {"agent": 1}
    assert found.settings == {}
    assert sum("those that the agent named, not observed ones" in note for note in found.notes) == 2


def test_one_beside_a_result_document_differs_in_what_both_record(tmp_path: Path, write: Write) -> None:
    own = write("reference", {1: {"sopr_score": 1.0, "api_call_score": 1.0}}, test_set="G1")
    found = compared(original(tmp_path, "first", [(1.0, 0.0)]), own)
    assert found.scores["api_call_score"]["candidate"] == 1.0
    assert "sopr_score" not in found.scores  # the judges differ
    assert set(found.settings) == {"evaluator_model"}


@for_each("repeat", [-1, 2**70, "first", 0.5])
def test_a_repeat_is_a_number(write: Write, repeat: Any) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}})
    document = json.loads(path.read_text())
    document["results"][0]["repeat"] = repeat
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"query 1: repeat is .*, not a whole number"):
        read_groups([str(path)], None)


def test_a_document_without_intervals_is_still_damaged(write: Write) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}})
    document = json.loads(path.read_text())
    del document["summary"]["intervals"]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="lacks 'intervals'"):
        read_groups([str(path)], None)
