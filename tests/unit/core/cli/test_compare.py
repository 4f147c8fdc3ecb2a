"""``bench compare`` finds out what it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click
import pytest
from click.testing import CliRunner

from trialbed import Comparer, Comparison, Table
from trialbed.cli.compare import CompareCommand


class Fruit(Comparer):
    """Compares words that begin with a letter."""

    letter: ClassVar[str] = "a"
    contents: ClassVar[str] = "apples"

    def options(self) -> Sequence[click.Option]:
        return [click.Option([f"--{self.contents}"], help="How many.")]

    def recognises(self, value: str) -> bool:
        return value.startswith(self.letter)

    def compare(self, values: Sequence[str], options: Mapping[str, Any]) -> Comparison:
        number = options[self.contents]
        failed = [f"{self.contents}: too few"] if number == "0" else []
        tables = [Table(self.contents, notes=["so"])]
        return Comparison({"values": list(values)}, tables, [{"n": number}], failed)


class Pears(Fruit):
    """Of another kind."""

    letter: ClassVar[str] = "p"
    contents: ClassVar[str] = "pears"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    compare = CompareCommand([Fruit(), Pears()])
    return lambda *arguments: CliRunner().invoke(compare, arguments, standalone_mode=False)


def test_what_is_given_is_compared_by_its_kind(run) -> None:
    assert json.loads(run("a1", "a2", "--json").output) == {"values": ["a1", "a2"]}
    assert run("p1", "p2").output.startswith("pears\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name two or more of a kind: apples or pears"),
        (("a1", "p1"), "a1 is about apples, and p1 about pears; compare things of one kind"),
        (("a1", "a2", "--pears", "1"), "a1 is about apples, and --pears about pears"),
        (("--apples", "1", "--pears", "1"), "--apples is about apples, and --pears about pears"),
        (("x",), "x: no such file, and not the id of a run; what can be compared: apples, pears"),
    ],
)
def test_kinds_are_not_mixed(run, arguments, said) -> None:
    assert said in str(run(*arguments).exception)


def test_every_format_is_written(run, tmp_path: Path) -> None:
    assert run("a1", "--apples", "2", "--output", "o.json").return_value == 0
    assert json.loads((tmp_path / "o.json").read_text()) == {"values": ["a1"]}
    assert run("a1", "--apples", "2", "--format", "markdown").output.strip() == "## apples\n\nso"
    assert run("a1", "--apples", "2", "--format", "csv").output.split() == ["n", "2"]


def test_json_controls_no_terminal_and_has_null_for_a_number_that_json_lacks(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Comparison({"name": "é\x9b31m", "value": float("nan")}, [Table("", notes=["so"])], [])
    monkeypatch.setattr(Fruit, "compare", lambda *_: found)
    shown = run("a1", "--json").output
    assert r"é\u009b31m" in shown
    assert json.loads(shown) == {"name": "é\x9b31m", "value": None}


def test_a_check_that_fails_is_exit_code_1_and_a_failed_test(run) -> None:
    assert run("a1", "--apples", "0").return_value == 1
    assert 'failures="1"' in (found := run("a1", "--apples", "0", "--format", "junit").output)
    assert 'name="apples: too few"' in found
    assert 'failures="0"' in run("a1", "--apples", "2", "--format", "junit").output
