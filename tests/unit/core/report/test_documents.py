"""Result documents: their schema, their entries, their files, and what they never hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from support.memory_runs import ended_with, report_of, result_document, stored_run
from support.scoring import api_call, model_call, sent_call
from support.trials import run_config, run_of, trial_of, verdict

from trialbed.errors import DataError
from trialbed.prices import read_prices
from trialbed.records import (
    ApiRef,
    AttributedCall,
    ClaimedCall,
    Deviation,
    FrameworkInfo,
    GoldAnswer,
    GoldCall,
    Query,
    Score,
    TrialResult,
    Usage,
)
from trialbed.report import (
    Entries,
    Report,
    add_entries,
    document_parts,
    document_schema,
    each_document,
    json_bytes,
    kept_path,
    legacy_document,
    legacy_documents,
    read_report,
    safe_name,
    write_document,
)
from trialbed.wire.redaction import shown_url

MAY_LACK = {"prices", "helpers", "lost_trials", "plugin_files"}
"""Keys of metadata that only some documents have."""

OF_SOME = {"integrity", "translated_requests", "own_calls"}
"""Keys of a summary that only some documents have."""

NOW = ApiRef(category="C", tool_name="weather", api_name="now")
GOLD = (GoldCall(api=NOW),)
QUERIES: dict[int | str, Query] = {
    2: Query(query_id=2, text="second?", apis=(), gold_calls=GOLD, reference_answer="It is 2."),
    1: Query(query_id=1, text="first?", apis=(), gold_calls=GOLD),
}
RUN = run_of(
    run_config(
        frameworks=("reference", "other"), query_ids=(2, 1), repeat=2, base_url="https://user:pass@example.org/v1"
    ),
    created_at=datetime(2026, 1, 2, 13, tzinfo=timezone(timedelta(hours=1))),
    overall_time=9.5,
    frameworks=(
        FrameworkInfo(
            name="reference",
            version="1.2",
            adapter="trialbed",
            adapter_version="0.1.0",
            python="3.11.7",
            deviations=(Deviation(text="adds a prompt"),),
        ),
    ),
)


def trial(query_id: int = 1, repeat: int = 0, *given: Any, **more: Any) -> TrialResult:
    """A trial with a request that was refused, one that was answered, and a call."""
    sent = [sent_call("now", "{", "invalid json"), sent_call("now")]
    answered = {"request": "ask", "request_bytes": 3, "response_bytes": 4}
    asked = (
        model_call(None, 429, **answered),
        model_call(Usage(prompt_tokens=5, completion_tokens=6), sent=sent, **answered),
    )
    made = api_call("now", provenance="cache:template").model_copy(update={"api": NOW})
    calls = (ClaimedCall(name="x", api=NOW),)
    answer = {"final_answer": "sunny", "calls": calls} | more.pop("answer", {})
    fields = {"model_calls": asked, "api_calls": [made], "wall": 2.0, "evaluation_time": 0.25, "answer": answer}
    return trial_of(query_id, repeat, *given, **fields | more)


def results() -> list[TrialResult]:
    detail = {"invented": [["a", "b"]], "unreported": [], "unasked": [["c", "d"]], "sent": [["weather", "now"]]}
    claims = Score(name="claimed_vs_observed", value=0.0, detail=detail, quality=False)
    called = [Score(name="api_call_score", value=value) for value in (1.0, 0.5)]
    solved = verdict("Solved", "because")
    solved = solved.model_copy(update={"detail": {**solved.detail, "method": "rule", "votes": ["Solved"]}})
    return [
        trial(1, 0, None, [solved, called[0], Score(name="has_finish", value=1.0), claims]),
        trial(1, 1, None, [verdict(None, "judge rule: none"), called[1]]),
        trial(2, 0, None, [verdict("Unsure")], answer={"finish": None, "final_answer": ""}),
        trial(2, 1, "crash", message="it died"),
    ]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return result_document(RUN, "reference", QUERIES, results(), {"extra": 1})


def check(document: dict[str, Any]) -> None:
    Draft202012Validator(document_schema(), validate_formats=True).validate(
        json.loads(json.dumps(document, allow_nan=False))
    )


def entries(*trials: TrialResult, **more: Any) -> list[dict[str, Any]]:
    found = result_document(RUN, "reference", QUERIES, trials, **more)
    check(found)
    return list(found["results"])


def test_documents_satisfy_the_schema_which_describes_every_key(document: dict[str, Any]) -> None:
    check(document)
    check(result_document(RUN, "other", QUERIES, []))
    schema = document_schema()
    described = schema["properties"]
    assert set(document["metadata"]) | MAY_LACK == set(described["metadata"]["properties"])
    named = set(described["summary"]["properties"])
    averages = {key for key in document["summary"] if key.startswith("average_")}
    assert set(document["summary"]) - {"extra"} - (averages - named) == named - OF_SOME
    for entry in document["results"]:
        assert set(entry) | {"error", "earlier_errors", "gold_calls"} == set(schema["$defs"]["entry"]["properties"])


def test_the_summary_has_the_figures_of_the_report(document: dict[str, Any]) -> None:
    found = document["summary"]
    assert (found["total_queries"], found["total_trials"], found["error_count"], found["errors"]) == (
        2,
        4,
        1,
        {"crash": 1},
    )
    assert (found["average_api_call_score"], found["denominators"]["api_call_score"]) == (0.5, 3)
    assert (found["average_sopr_score"], found["solved_percentage"]) == (0.5, pytest.approx(100 / 3))
    assert (found["average_total_tokens"], found["extra"], found["totals"]["total_tokens"]) == (None, 1, 44)
    assert {f"average_{name}" for name in found["denominators"]} & set(found) == {
        key for key in found if key.startswith("average_")
    }
    crash = {
        "kind": "crash",
        "status": "failed",
        "count": 1,
        "message": "it died",
        "query_id": 2,
        "repeat": 1,
        "entry": 1,
    }
    assert found["failures"] == [crash]
    untold = {"score": "sopr_score", "kind": "judge", "count": 1, "message": "judge rule: none", "query_id": 1}
    assert found["untold_reasons"] == [{**untold, "repeat": 1, "entry": 3}]
    assert (found["claims"]["invented"], found["claims"]["unreported"], found["claims"]["unasked"]) == (1, 0, 1)


def test_costs_and_recorded_answers_are_told_if_there_are_any(document: dict[str, Any]) -> None:
    assert not {"cost", "recorded_requests"} & set(document["summary"]["totals"])
    priced = RUN.model_copy(update={"prices": {"scripted:gold": read_prices("1,2,0.5")}})
    calls = [model_call(Usage(prompt_tokens=5, completion_tokens=6), recorded=1.5)]
    found = result_document(priced, "reference", QUERIES, [trial(1, 0, None, [verdict("Solved")], model_calls=calls)])
    check(found)
    totals = found["summary"]["totals"]
    assert totals["cost"] == totals["cost_per_solved"] == (5 + 2 * 6) / 1_000_000
    assert (totals["recorded_requests"], totals["recorded_tokens"]) == (1, 11)


def test_entries_stand_in_the_order_of_the_runs_queries_and_have_the_whole_story(document: dict[str, Any]) -> None:
    assert [(one["query_id"], one["repeat"]) for one in document["results"]] == [(2, 0), (2, 1), (1, 0), (1, 1)]
    found = document["results"][2]
    assert found["scores"] == {
        "sopr_score": 1.0, "api_call_score": 1.0, "answer_status": "Solved", "has_finish": True,
        "claimed_vs_observed": 0.0,
    }  # fmt: skip
    assert found["gold_apis"] == found["called_apis"] == [["weather", "now"]]
    assert (found["evaluation"]["reason"], found["evaluation"]["votes"]) == ("because", ["Solved"])
    assert [json.loads(node["message"])["name"] for node in found["answer_details"]] == ["weather_now", "Finish"]
    assert (found["tokens"]["total_tokens"], found["tokens"]["claimed"]["total_tokens"]) == (11, None)
    assert found["timing"]["total_time"] == 2.25
    assert "error" not in found
    assert found["wire"] == {
        "model_calls": 2, "model_errors": 1, "retries": 1, "refused": 0, "finish_reasons": {}, "truncated": 0,
        "text_calls": [], "request_bytes": 6, "response_bytes": 8, "api_calls": 1, "api_errors": 0, "not_offered": 0,
        "cached": 1, "sent": [["weather", "now"]], "sent_invalid": 1, "sent_problems": {"invalid json": 1},
        "observed": [["weather", "now"]], "claimed": [["weather", "now"]], "invented": [["a", "b"]], "unreported": [],
        "unasked": [["c", "d"]], "lost": [], "filled": [],
    }  # fmt: skip


def test_a_failed_trial_says_why_and_is_0_in_scores_of_quality(document: dict[str, Any]) -> None:
    found = document["results"][1]
    assert (found["error"]["kind"], found["error"]["message"], found["status"]) == ("crash", "it died", "failed")
    zeros = dict.fromkeys(("sopr_score", "api_call_score", "api_precision", "api_f1"), 0.0)
    assert found["scores"] == {**zeros, "answer_status": "Error", "has_finish": False}
    assert (found["called_apis"], found["wire"]["sent"]) == ([["weather", "now"]], [["t_now"]])
    unmeasured = entries(trial(1, 0, "endpoint"))[0]
    nothing = dict.fromkeys(("sopr_score", "api_call_score", "has_finish"))
    assert (unmeasured["status"], unmeasured["scores"]) == ("not measured", {**nothing, "answer_status": "Error"})
    silent = {1: QUERIES[1].model_copy(update={"states_calls": False})}
    (alone,) = result_document(RUN, "reference", silent, [trial(1, 0, "crash")])["results"]
    assert (alone["scores"]["sopr_score"], alone["scores"]["api_call_score"]) == (0.0, None)


def test_gold_calls_that_the_run_made_stand_in_each_entry_of_their_query() -> None:
    good = trial().wire.api_calls[0].model_copy(update={"response": {"sky": "blue"}})
    refused = api_call("now", error="no such city", duration=0.5)
    answers = {query_id: GoldAnswer(query_id=query_id, seconds=3.0, calls=(good, refused)) for query_id in (1, 2)}
    document = result_document(RUN, "reference", QUERIES, results(), gold=answers)
    check(document)
    second, first = document["results"][0], document["results"][2]
    assert (first["gold_answer_time"], first["gold_api_responses"]) == (3.0, 1)
    assert first["gold_answer"] == {"final_answer": '{"sky": "blue"}', "has_finish": True}
    assert second["gold_answer"] == {"final_answer": "It is 2.", "has_finish": True}
    assert [each["error"] for each in first["gold_responses"]] == ["", "no such city"]
    assert (first["timing"]["gold_answer_time"], first["timing"]["total_time"]) == (3.0, 5.25)
    summary = document["summary"]
    assert (summary["average_gold_answer_time"], summary["denominators"]["gold_answer_time"]) == (3.0, 4)


def test_a_plugin_does_not_replace_a_figure_and_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    found = result_document(RUN, "reference", QUERIES, [], {"error_count": 7, "mine": 1})
    assert (found["summary"]["error_count"], found["summary"]["mine"]) == (0, 1)
    assert "aggregate_scores gives 'error_count', which the summary already has: rename it" in caplog.text


def test_secrets_and_what_is_no_json_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = (AttributedCall(gold=GOLD[0], lost="api failed", reason="no entry for sk-very-secret"),)
    odd = Score(name="odd", value=float("inf"), detail={"x": float("nan")})
    given = [
        trial(1, 0, "agent", message="401 for sk-very-secret", gold_calls=lost),
        trial(2, 0, None, [odd], answer={"final_answer": "sk-very-secret"}),
    ]
    with stored_run(RUN, given) as stored:
        monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
        text = json.dumps(legacy_documents(read_report(stored, QUERIES)), allow_nan=False)
    assert "sk-very-secret" not in text
    assert "401 for [redacted]" in text
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary+4711")
    url = "https://me:word@example.org/v1?key=sk-canary%2B4711"
    assert shown_url(url) == "https://example.org/v1?key=[redacted]"


def written(report: Report, known: Entries | None = None) -> list[dict[str, Any]]:
    """The documents as they are written to files."""
    return [json.loads(b"".join(document_parts(head, own))) for head, own in each_document(report, known)]


def both() -> list[TrialResult]:
    """Two frameworks, with half of an emoji in an answer and in a failure."""
    given = [
        *results(),
        trial(1, framework="other", answer={"final_answer": "\ud83d"}),
        trial(2, 0, "crash", framework="other", message="\ud83d"),
    ]
    return [ended_with(one, RUN, QUERIES[one.key.query_id]) for one in given]


def before(results: list[TrialResult], known: Entries) -> list[TrialResult]:
    """Some trials are of an earlier session, as in a run that is resumed."""
    add_entries(known, QUERIES, results[2:])
    return results


def repeated(results: list[TrialResult], known: Entries) -> list[TrialResult]:
    """The entries of attempts that do not count are left out."""
    again = [*results, results[3].model_copy(update={"attempt": 1, "adapter_digest": "new"})]
    add_entries(known, QUERIES, again)
    return again


@pytest.mark.parametrize("session", [before, repeated])
def test_entries_that_are_written_as_trials_end_are_those_that_are_read_from_the_store(
    session: Callable[[list[TrialResult], Entries], list[TrialResult]],
) -> None:
    known: Entries = {}
    report = report_of(RUN, QUERIES, session(both(), known))
    assert written(report, known) == legacy_documents(report)


def test_entries_have_the_verdicts_of_the_judge_whose_figures_the_summary_has() -> None:
    strict = Score(name="sopr_score@strict", value=0.0, label="Unsolved", detail={"reason": "severe"})
    report = report_of(
        RUN, QUERIES, [trial(1, 0, None, [verdict("Solved"), strict])], renamed={"sopr_score@strict": "sopr_score"}
    )
    document = legacy_document(report, "reference")
    (entry,) = document["results"]
    assert document["summary"]["average_sopr_score"] == entry["scores"]["sopr_score"] == 0.0
    assert (entry["scores"]["answer_status"], entry["evaluation"]["reason"]) == ("Unsolved", "severe")
    assert "sopr_score@strict" not in entry["scores"]


def run_document(
    agent: str = "my_agent", test_set: str = "G1_instruction", run_id: str = "r1", **more: Any
) -> dict[str, Any]:
    about = {"agent_name": agent, "test_set": test_set, "model": "scripted:gold", "run_id": run_id}
    return {"metadata": about, **more}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_run_keeps_its_document_and_the_latest_has_a_copy(tmp_path: Path) -> None:
    write_document(run_document(x=1), tmp_path)
    write_document(run_document(run_id="r2", x=2), tmp_path)
    path = write_document(run_document(run_id="r2", x=3), tmp_path)
    kept = ["my_agent_G1_instruction_scripted@gold_r1.json", "my_agent_G1_instruction_scripted@gold_r2.json"]
    assert names(tmp_path) == [path.name, *kept]
    assert [json.loads((tmp_path / name).read_text())["x"] for name in names(tmp_path)] == [3, 1, 3]
    assert kept_path(run_document(run_id="r2"), tmp_path).name == kept[1]


def test_where_the_disk_gives_no_second_name_there_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_paths: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    path, kept = write_document(run_document(x=1), tmp_path), kept_path(run_document(), tmp_path)
    assert path.read_bytes() == kept.read_bytes()
    assert not path.samefile(kept)


@given(st.lists(st.dictionaries(st.text(), st.text() | st.lists(st.integers()))))
def test_a_document_of_parts_is_the_same_as_one_in_a_piece(entries: list[dict[str, Any]]) -> None:
    parts = document_parts(run_document(results=[]), map(json_bytes, entries))
    assert b"".join(parts) == json_bytes(run_document(results=entries))


def test_a_write_that_fails_leaves_the_old_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_document(run_document(x=1), tmp_path)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_document(run_document(x=2), tmp_path)
    assert json.loads(path.read_text())["x"] == 1
    assert names(tmp_path) == sorted([path.name, kept_path(run_document(), tmp_path).name])


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a/b", "a\x00b", "", "x" * 500, "ü"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    path = write_document(run_document(name, name), tmp_path / "results")
    assert path.parent == tmp_path / "results"
    assert len(list(path.parent.iterdir())) == 2


@given(st.text(max_size=100), st.text(max_size=100))
def test_two_names_never_meet_in_one_file(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_a_profile_is_part_of_the_name(tmp_path: Path) -> None:
    assert write_document(run_document("langgraph:native", "mini"), tmp_path).name == "langgraph@native_mini.json"
    assert write_document(run_document("langgraph@native", "mini"), tmp_path).name != "langgraph@native_mini.json"


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="--output"):
        write_document(run_document(), tmp_path / "file" / "x")
