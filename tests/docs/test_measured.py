"""The pages of measured figures are what the command writes from the figures that are kept beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import bench_in, own_environment

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", ["erring-models", "fidelity"])
def test_the_page_shows_the_figures_that_are_kept(name: str, tmp_path: Path) -> None:
    bench = bench_in(tmp_path, own_environment())
    done = bench("fidelity", "--from", REFERENCE / f"{name}.json", "--format", "markdown", code=None)
    assert done.code in (0, 1), done.err  # 1: a part is missing, which the page tells
    page = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    shown = page.split("<!-- measured: fidelity -->\n")[1].split("<!-- end of what was measured -->")[0]
    assert shown.strip() == done.out.strip()
