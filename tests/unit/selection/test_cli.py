from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_selection.cli import command

SELECTOR = """\
from trialbed.contracts import ToolSelector


class Right(ToolSelector):
    def prepare(self, apis):
        pass

    def select(self, query, *, max_tools):
        return [call.api for call in query.gold_calls][:max_tools]
"""


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


def select(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_selectors_are_measured_side_by_side() -> None:
    found = json.loads(select("--selector", "gold", "--selector", "bm25", "--k", "20,5,5", "--json").output)
    assert found["k"] == [5, 20]
    assert found["catalog"]["apis"] == 110
    (gold,), (bm25,) = found["selectors"]["gold"], found["selectors"]["bm25"]
    assert gold["at"]["20"]["coverage"]["value"] == 1
    assert 0.8 < bm25["at"]["5"]["recall"]["value"] < bm25["at"]["20"]["recall"]["value"] <= 1


def test_the_table_has_a_row_for_each_selector() -> None:
    text = select("--selector", "gold", "--selector", "query", "--k", "5", "--limit", "3").output
    assert text.count("mini (3)") == 2
    assert text.splitlines()[2].split() == ["test", "set", "selector", "recall@5", "coverage@5", "ms"]
    (gold,) = (line.split() for line in text.splitlines() if " gold " in line)
    assert gold[2:-1] == ["gold", *["1.000", "[0.439,", "1.000]"] * 2]
    assert "ms: median time of a task." in text
    assert re.search(r"^Catalog [0-9a-f]{16} of 110 tools\.$", text, re.MULTILINE)


def test_the_table_of_an_explanation_marks_what_is_expected_and_lists_what_is_not_offered() -> None:
    arguments = ("--explain", "--query-id", "11", "--k", "3", "--selector", "bm25")
    (item,) = json.loads(select(*arguments, "--json").output)["explanations"]["bm25"]
    lines = select(*arguments).output.splitlines()
    assert lines[0] == "task 11, bm25"
    rows = [line for line in lines if line[:1].isdigit()]
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert [" expected " in row for row in rows] == [choice["gold"] for choice in item["choices"]]
    for row, choice in zip(rows, item["choices"], strict=True):
        assert row.endswith(f"{choice['category']} / {choice['tool_name']} / {choice['api_name']}")
        assert f" {choice['score']:.4g} " in row
    assert [line for line in lines if line.startswith("Not offered: ")] == [
        f"Not offered: {' / '.join(ref)}" for ref in item["missed"]
    ]
    assert item["missed"]


@for_each("value", ["", "0", "5,", "-1", "a", "1.5"])
def test_numbers_of_tools_are_numbers(value: str) -> None:
    result = select("--k", value)
    assert result.exit_code == 2
    assert "is not a number from 1 on, or several" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--query-id", "none"), "--query-id: mini has no task none"),
        (("--selector-model", "m"), "--selector-model: the model 'm' needs an endpoint"),
    ],
)
def test_what_cannot_be_measured_is_an_error_that_says_why(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select(*arguments)


def test_a_dataset_without_gold_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plain.json"
    api = {"category": "c", "tool_name": "t", "api_name": "a"}
    file.write_text(json.dumps({"name": "plain", "queries": [{"query_id": 1, "text": "?", "apis": [api]}]}))
    with pytest.raises(UsageError, match="no task says which tools solve it"):
        select("--dataset", str(file))


def test_a_selector_in_a_file_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.py").write_text(SELECTOR)
    found = json.loads(select("--selector", "./mine.py:Right", "--k", "5", "--limit", "3", "--json").output)
    (measured,) = found["selectors"]["mine.Right"]
    assert measured["at"]["5"]["coverage"]["value"] == 1
    with pytest.raises(UsageError, match="has no 'Rihgt'; did you mean 'Right'"):
        select("--selector", "./mine.py:Rihgt")
