"""What is generated from the code is fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_generated_parts_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    from generate import main

    assert (main(["--check"]), capsys.readouterr().err) == (0, "")


def test_a_stale_part_would_be_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from generate import main

    page = tmp_path / "docs" / "scores.md"
    page.parent.mkdir()
    page.write_text((ROOT / "docs" / "reference" / "scores.md").read_text().replace("| `cost` |", "| `price` |"))
    assert main(["--check"], page.parent) == 1
    assert "docs/scores.md is stale" in capsys.readouterr().err


def test_pages_that_code_writes_are_not_committed(docs: Path) -> None:
    from parts import PAGES

    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    patterns = [line.removeprefix("/docs/") for line in ignored if line.startswith("/docs/")]
    assert [name for name in PAGES if not any(Path(name).match(pattern) for pattern in patterns)] == []
    assert [name for name in PAGES if not (docs / name).read_text(encoding="utf-8").startswith("# ")] == []
