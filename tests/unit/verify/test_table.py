from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.vendor_rows import k2_row, own_row, request, write_rows

from trialbed.errors import DataError
from trialbed_verify.rows import FileRows
from trialbed_verify.table import AnswerRow, Answers, read_one, read_tables


def read(path: Path, *rows: dict[str, object]) -> tuple[AnswerRow, ...]:
    return table(path, *rows).rows


def table(path: Path, *rows: dict[str, object]) -> Answers:
    return read_one(FileRows(write_rows(path / "results.jsonl", rows)))


def test_an_own_row_is_read_whole(tmp_path: Path) -> None:
    (row,) = read(tmp_path, own_row(3, "tool_calls", trial=2, valid=False))
    assert (row.line, row.data_index, row.trial, row.case) == (1, 3, 2, f"{3:064x}")
    assert (row.vendor, row.model, row.asked_model) == ("acme", "m", "m-id")
    assert (row.decision, row.outcome, row.success, row.valid) == ("tool_calls", "tool_calls", True, False)
    assert row.calls is not None
    assert row.calls[0][1] == ("wrong_type",)
    assert [row.figure(name) for name in ("ttft_ms", "tps", "total_tokens", "duration_ms")] == [
        250.0,
        50.0,
        140.0,
        900.0,
    ]
    assert row.served == ("m-id", "fp", None)


@pytest.mark.parametrize(
    ("finish", "outcome", "decision", "problem"),
    [
        ("tool_calls", "tool_calls", "tool_calls", None),
        ("stop", "stop", "stop", None),
        ("length", "other", "other", None),
        ("stop_163586", "other", "other", None),
        (None, "protocol_error", "none", "no_finish_reason"),
        ("failed", "unknown_failure", "none", "APIError"),
    ],
)
def test_the_outcome_of_another_tools_row_follows_from_what_it_has(
    tmp_path: Path, finish: str | None, outcome: str, decision: str, problem: str | None
) -> None:
    (row,) = read(tmp_path, k2_row(1, finish))
    assert (row.outcome, row.decision, row.problem) == (outcome, decision, problem)
    assert row.calls is None
    assert row.case is None


@pytest.mark.parametrize(
    "response",
    [
        {"usage": {"total_tokens": 120, "completion_tokens": 20}},
        {"usage": {"prompt_tokens": 100, "completion_tokens": 20}},
        {"choices": [{"usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}]},
    ],
)
def test_tokens_are_found_where_vendors_put_them(tmp_path: Path, response: dict[str, object]) -> None:
    (row,) = read(tmp_path, k2_row(1, response=response))
    assert (row.total_tokens, row.completion_tokens) == (120.0, 20.0)


def test_a_row_of_agent_vendor_verifier_is_read(tmp_path: Path) -> None:
    """It has no extra body, figures of its own, and zeros for what it does not know."""
    row = k2_row(4, "tool_calls", valid=True, response={"choices": [{"finish_reason": "tool_calls"}]})
    del row["extra_body"]
    figures = {"prompt_tokens": 90, "completion_tokens": 30, "total_tokens": 120, "ttft_ms": 0}
    (found,) = read(tmp_path, row | figures | {"prefill_throughput": 0, "decode_throughput": 0})
    assert (found.outcome, found.valid, found.total_tokens, found.completion_tokens) == (
        "tool_calls",
        True,
        120.0,
        30.0,
    )
    assert {found.figure(name) for name in ("ttft_ms", "tps", "duration_ms")} == {None}


def test_what_vendors_may_differ_in_is_no_part_of_what_is_asked(tmp_path: Path) -> None:
    plain, dressed = read(
        tmp_path,
        k2_row(1),
        k2_row(
            1, request=request(1, stream=True, stream_options={}, user="u", metadata={}, provider={}) | {"model": "x"}
        ),
    )
    assert plain.requested == dressed.requested


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not json}", "line 2: not JSON"),
        ("[1, 2]", "line 2: not a result row"),
        ('{"messages": []}', "line 2: not a result row, as it has no status"),
        ('{"status": "success", "ttft_ms": "fast"}', "line 2: ttft_ms: 'fast' is not a number"),
        ('{"status": "success", "ttft_ms": NaN}', "line 2: ttft_ms: nan is not a number"),
        ('{"status": "success", "total_tokens": 1%s}' % ("0" * 400), "line 2: total_tokens: 1000000"),
        ('{"status": "success", "calls": [{"reasons": 5}]}', "line 2: calls: the reasons are not a list"),
        ('{"status": "success", "trial": 1.5}', "line 2: trial: 1.5 is not a whole number"),
        ('{"status": "success", "calls": ["look_up"]}', "line 2: calls: a call is not an object"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write_rows(tmp_path / "results.jsonl", [k2_row(1)])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DataError, match=r"results\.jsonl, line 2") as caught:
        read_tables(FileRows(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(("arguments", "valid"), [('{"q": "x"}', True), ('{"q": 5}', False), ("{oops", False)])
def test_calls_without_a_verdict_are_checked_against_their_tools(tmp_path: Path, arguments: str, valid: bool) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "look_up", "parameters": schema}}
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": arguments}}
    message = {"role": "assistant", "tool_calls": [call]}
    one = k2_row(1, "tool_calls", request=request(1, tools=[tool]), response={"choices": [{"message": message}]})
    del one["tool_calls_valid"]
    (row,) = read(tmp_path, one)
    assert row.valid is valid
    assert row.calls is not None
    assert row.calls[0][0] is valid


def test_prices_are_those_of_the_summary_beside_the_file(tmp_path: Path) -> None:
    about = {"configuration_digest": "configuration", "prices": {"input": 2.0, "output": 8.0}}
    (tmp_path / "results_summary.json").write_text(json.dumps({"provenance": about}), encoding="utf-8")
    assert table(tmp_path, own_row(1)).prices == {"input": 2.0, "output": 8.0}
    assert table(tmp_path, own_row(1, config="another")).prices == {}
    (tmp_path / "results_summary.json").write_text("[]", encoding="utf-8")
    assert table(tmp_path, own_row(1)).prices == {}
