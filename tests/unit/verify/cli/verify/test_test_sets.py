"""Which test set ``bench verify`` sends, and the names that other tools give to its options."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_verify.cli.verify import command
from trialbed_verify.cli.verify._test_sets import chosen_test_set
from trialbed_verify.suites import SUITES

OTHER_TOOLS = """
agent-vendor-verifier --test-file-path samples.jsonl --config-file-path config.yaml --vendor-concurrency 5
  --request-concurrency 30 --retries 10 --timeout 30 --temperature 0.6 --max-tokens 100 --incremental
  --use_raw_completions --tokenizer-model x --extra-body {}
vendor_verifier samples.jsonl --model kimi-k2-0905-preview --base-url https://api.example.com/v1 --api-key k
  --model-type kimi --temperature 0.6 --max-tokens 5 --extra-body {} --concurrency 10 --output r.jsonl
  --summary s.json --timeout 600 --retries 3 --incremental --use-raw-completions --tokenizer-model x
"""


def test_a_seed_needs_a_suite(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="--suite-seed makes variants"), chosen_test_set(tmp_path, None, [], 5):
        pass


@pytest.mark.parametrize("line", OTHER_TOOLS.replace("\n  ", " ").strip().splitlines())
def test_the_command_lines_of_other_tools_are_understood(line: str, tmp_path: Path) -> None:
    for name in ("samples.jsonl", "config.yaml"):
        (tmp_path / name).write_text("{}\n")
    words = [str(tmp_path / word) if word in ("samples.jsonl", "config.yaml") else word for word in shlex.split(line)]
    given = command.make_context("verify", words[1:]).params
    assert (given["file"] or given["test_file_path"]).name == "samples.jsonl"
    assert (given["temperature"], given["incremental"], given["use_raw_completions"]) == (0.6, True, True)


def test_a_suite_is_a_file_only_as_long_as_it_is_sent() -> None:
    with chosen_test_set(None, None, ["leaks", "constraints", "leaks"]) as path:
        assert path.name == "leaks+constraints.jsonl"
        assert len(path.read_bytes().splitlines()) >= SUITES["leaks"].size + SUITES["constraints"].size
    assert not path.exists()


@for_each(
    ("given", "message"),
    [
        ((None, None, []), "name the test set"),
        ((Path("a"), Path("b"), []), "FILE and --test-file-path both name the test set"),
        ((Path("a"), None, ["leaks"]), "FILE and --suite both name the test set"),
    ],
)
def test_one_test_set_is_named(given: tuple[Path | None, Path | None, list[str]], message: str) -> None:
    with pytest.raises(click.UsageError, match=message), chosen_test_set(*given):
        pass


def test_a_wrong_suite_is_refused_before_anything_is_written() -> None:
    with pytest.raises(UsageError, match="there is no suite"), chosen_test_set(None, None, ["leaks", "nothing"]):
        pass


def test_suites_and_models_are_listed() -> None:
    listed = json.loads(CliRunner().invoke(command, ["--list-suites", "--json"]).stdout)
    assert {name: about["cases"] for name, about in listed.items()} == {name: one.size for name, one in SUITES.items()}
    assert isinstance(json.loads(CliRunner().invoke(command, ["--list-models", "--json"]).stdout), dict)


def test_the_requests_of_suites_are_written_to_a_file_once(tmp_path: Path) -> None:
    arguments = ["--suite", "leaks", "--write-test-set", str(tmp_path / "leaks.jsonl")]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert json.loads((tmp_path / "leaks.jsonl").read_bytes().split(b"\n")[0])["suite"]["name"] == "leaks"
    assert "is there already" in CliRunner().invoke(command, arguments).output
    assert "name one" in CliRunner().invoke(command, arguments[2:]).output
