"""The pages of measured figures are what the command writes from the figures that are kept beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", ["erring-models", "fidelity"])
def test_the_page_shows_the_figures_that_are_kept(name: str) -> None:
    command = [sys.executable, "-m", "trialbed", "fidelity", "--from", str(REFERENCE / f"{name}.json")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
    done = subprocess.run(
        [*command, "--format", "markdown"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode in (0, 1), done.stderr  # 1: a part is missing, which the page tells
    page = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    shown = page.split("<!-- measured: fidelity -->\n")[1].split("<!-- end of what was measured -->")[0]
    assert shown.strip() == done.stdout.strip()
