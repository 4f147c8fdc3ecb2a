"""``bench help``: topics, the fields of records, and the help on commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from click.testing import CliRunner, Result
from support.cases import for_each

from trialbed import Query, contracts, views
from trialbed.cli import cli
from trialbed.record_fields import describe_record, describe_records

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "records.md"


def ask(*arguments: str, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, ["help", *arguments], prog_name="bench")


def test_the_fields_of_a_record_have_type_default_and_meaning() -> None:
    text = ask("records", "Query").output
    fields = re.findall(r"^  (\w+): ", text, re.MULTILINE)
    assert fields == list(Query.model_fields)
    assert "  query_id: int | str  (must be given)\n      as the dataset spells it; unique" in text
    assert "\n  gold_calls: tuple[GoldCall, ...] = ()\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_json_tells_a_field_that_must_be_given_from_one_that_is_none() -> None:
    found = json.loads(ask("records", "Query", "--json").output)
    defaults = {field["name"]: field["default"] for field in found["fields"]}
    assert (found["name"], defaults["text"], defaults["reference_answer"]) == ("Query", None, "None")


def test_the_records_are_those_of_the_reference() -> None:
    listed = [entry["record"] for entry in json.loads(ask("records", "--json").output)]
    assert listed == re.findall(r"^### (\w+)$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"Query", contracts.ModelInfo.__name__, views.Table.__name__} <= set(listed)
    shown = ask("records").output
    assert [name for name in listed if not re.search(rf"^{name} ", shown, re.MULTILINE)] == []


def test_one_record_is_as_it_is_among_all() -> None:
    records = describe_records()
    assert {name: describe_record(name) for name in records} == records
    assert describe_record("hookimpl") is None


def test_without_a_topic_topics_are_listed() -> None:
    assert re.match(r"records  \S", ask().output)
    assert [entry["topic"] for entry in json.loads(ask("--json").output)] == ["records"]


@for_each("path", ["runs", "adapter check"])
def test_a_command_has_its_own_help(path: str) -> None:
    own = CliRunner(env={"COLUMNS": "80"}).invoke(cli, [*path.split(), "--help"], prog_name="bench").output
    assert ask(*path.split()).output == own


@for_each(
    ("typed", "said"),
    [
        ("records query", "there is no record 'query'; did you mean 'Query'?"),
        ("records APICAL", "there is no record 'APICAL'; did you mean 'ApiCall'?"),
        ("records zzz", "there is no record 'zzz'."),
        ("recrods", "there is no topic or command 'recrods'; did you mean 'records'?"),
        ("adapter chek", "'bench adapter' has no command 'chek'; did you mean 'check'?"),
        ("run x", "'bench run' has no command 'x'."),
        ("run --json", "--json goes with topics, and 'run' is a command"),
    ],
)
def test_what_is_not_there_is_said_with_what_may_be_meant(typed: str, said: str) -> None:
    result = ask(*typed.split(), columns=200)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Error: {said}" in result.stderr
