"""What is generated from the code is fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_generated_parts_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_part_would_be_found(tmp_path: Path) -> None:
    for file in (ROOT / "docs").rglob("*"):
        if file.is_file() and file.suffix in (".ipynb", ".md", ".py"):
            copy = tmp_path / "docs" / file.relative_to(ROOT / "docs")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text())
    for other in ("setup.cfg", "core"):
        (tmp_path / other).symlink_to(ROOT / other)
    page = tmp_path / "docs" / "reference" / "hooks.md"
    page.write_text(page.read_text().replace("### run_started", "### run_begun"))
    command = [sys.executable, str(tmp_path / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "docs/reference/hooks.md is stale" in done.stderr
