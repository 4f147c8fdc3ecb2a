"""The documentation builds as a site of one version among others, which needs nothing else and can be searched."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=\"?(https?:)?//|<link[^>]* href=\"?(https?:)?//[^>]*stylesheet"
)
CONFIG = f"""
INHERIT: {ROOT}/mkdocs.yml
docs_dir: DOCS
hooks: [{ROOT}/docs/site_version.py]
site_dir: site
"""
NUMBER = version("trialbed")

Deploy = Callable[..., Path]


@pytest.fixture
def deploy(tmp_path: Path) -> Deploy:
    """Builds the site as a version, in a repository of its own; returns the folder of all versions."""

    def run(*command: str) -> bytes:
        known = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        # mike starts mkdocs by its name.
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, **known, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False, env=environment)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def deploy(number: str, config: str) -> Path:
        if not (tmp_path / ".git").exists():
            run("git", "init", "--quiet")
            run("git", "commit", "--quiet", "--allow-empty", "--message", "begin")
        (tmp_path / "mkdocs.yml").write_text(config)
        run("mike", "deploy", "--update-aliases", "--alias-type", "redirect", number, "latest")
        with tarfile.open(fileobj=io.BytesIO(run("git", "archive", "gh-pages"))) as archive:
            archive.extractall(tmp_path / "all", filter="data")
        return tmp_path / "all"

    return deploy


@pytest.mark.slow(25)
def test_the_site_of_two_versions_builds_without_a_warning_and_can_be_searched(
    deploy: Deploy, docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "index.md").write_text("# Trialbed")
    old = CONFIG.replace("DOCS", "old") + "plugins: [search]\nnav: [index.md]\n"
    deploy("0.0.1", old)
    found = deploy(NUMBER, CONFIG.replace("DOCS", str(docs)))
    site = found / NUMBER
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    pages = {entry["location"].partition("#")[0] for entry in index["docs"] if "api_call_score" in entry["text"]}
    assert "reference/scores.html" in pages
    assert "to_frame" in (site / "reference" / "python-api.html").read_text(encoding="utf-8")
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    assert [page for page, text in texts.items() if LOADED.search(text)] == []
    # What the copy button of a console block leaves out.
    commands = texts[site / "reference" / "commands.html"]
    assert "stylesheets/copy.css" in commands
    assert '<span class="gp">$ </span>' in commands
    assert ".gp" in (site / "stylesheets" / "copy.css").read_text(encoding="utf-8")
    # Each page says its version, and has the switch between those that versions.json lists. Published results are
    # pages of their own, the same in every version.
    published = [file.parent for file in site.rglob("published.json")]
    texts = {page: text for page, text in texts.items() if not any(map(page.is_relative_to, published))}
    switch = re.compile(r'"version": \{[^}]*"provider": "mike"')
    assert [page for page, text in texts.items() if f"Documentation of Trialbed {NUMBER}" not in text] == []
    assert [page for page, text in texts.items() if not switch.search(text)] == []
    versions = json.loads((found / "versions.json").read_text(encoding="utf-8"))
    assert [(one["version"], one["aliases"]) for one in versions] == [(NUMBER, ["latest"]), ("0.0.1", [])]
