"""The documentation builds as a site that needs nothing else, and whose search finds what it describes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=\"?(https?:)?//|<link[^>]* href=\"?(https?:)?//[^>]*stylesheet"
)


@pytest.mark.slow(20)
def test_the_site_builds_without_a_warning_and_can_be_searched(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    index = json.loads((tmp_path / "search" / "search_index.json").read_text(encoding="utf-8"))
    pages = {entry["location"].partition("#")[0] for entry in index["docs"] if "api_call_score" in entry["text"]}
    assert "reference/scores.html" in pages
    api = (tmp_path / "reference" / "api.html").read_text(encoding="utf-8")
    assert "to_frame" in api
    assert "DataFrame with a row for each trial" in api
    assert [page for page in tmp_path.rglob("*.html") if LOADED.search(page.read_text(encoding="utf-8"))] == []
