"""What is generated from the code is fresh."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The program, in this process, which has imported what it describes."""
    monkeypatch.syspath_prepend(str(DOCS))
    main: Callable[..., int] = import_module("generate").main
    return main


def test_the_generated_parts_are_fresh(generate: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert (generate(["--check"]), capsys.readouterr().err) == (0, "")


def test_a_stale_part_would_be_found(
    generate: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "hooks.md"
    page.parent.mkdir()
    page.write_text((DOCS / "reference" / "hooks.md").read_text().replace("### run_started", "### run_begun"))
    assert generate(["--check"], page.parent) == 1
    assert "docs/hooks.md is stale" in capsys.readouterr().err


def test_the_default_of_an_option_with_several_values_is_shown_as_it_is_given() -> None:
    text = (DOCS / "reference" / "commands.md").read_text()
    assert "| `--judge` | `NAME\\|MODEL\\|FILE.py:NAME` | `rule` |" in text
    assert "| `['" not in text
