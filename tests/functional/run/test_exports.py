"""Runs in the formats of other tools."""

from __future__ import annotations

import json
from pathlib import Path

from support.bench import Bench


def test_a_run_with_gold_answers_is_exported_and_one_that_is_not_there_is_named(bench: Bench, tmp_path: Path) -> None:
    done = bench("run", "--limit", 2, "--repeat", 2, "--model", "scripted:retry", "--gold-answers", "--json")
    document = done.document
    assert all(entry["gold_api_responses"] == len(entry["gold_apis"]) for entry in document["results"])
    assert all(entry["gold_answer_time"] > 0 for entry in document["results"])
    run_id = document["metadata"]["run_id"]
    written = bench("export", run_id, "--format", "stabletoolbench", "--output", "predictions").err
    files = [f"predictions/reference_r{repeat}/mini.json" for repeat in (0, 1)]
    assert written.splitlines() == [f"written: {file} (2 trials)" for file in files]
    answers = json.loads((tmp_path / files[0]).read_text(encoding="utf-8"))
    assert list(answers) == list(dict.fromkeys(str(entry["query_id"]) for entry in document["results"]))
    entry = document["results"][0]
    answer = answers[str(entry["query_id"])]
    assert answer["query"] == entry["query_text"]
    assert answer["answer"]["total_steps"] == entry["wire"]["api_calls"] + 3
    assert json.loads(answer["answer"]["final_answer"])["final_answer"] == entry["final_answer"]
    missing = bench("export", "20200101T000000-000000", "--format", "stabletoolbench", code=2)
    assert "20200101T000000-000000" in missing.err
