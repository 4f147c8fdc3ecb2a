"""What a reader of the documentation does in a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree
from threading import Thread
from typing import Any

import pytest

pytestmark = pytest.mark.slow(15)

ROOT = Path(__file__).parents[2]
PAGE = """# Page

```console
$ python3 -m venv .venv
$ pip install trialbed
Successfully installed
```
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of a page that is built as those of the documentation are."""
    docs = tmp_path / "docs"
    copytree(ROOT / "docs" / "stylesheets", docs / "stylesheets")
    (docs / "index.md").write_text(PAGE)
    lines = (f"INHERIT: {ROOT}/mkdocs.yml", "docs_dir: docs", "site_dir: site", "hooks: []", "plugins: [search]")
    (tmp_path / "mkdocs.yml").write_text("\n".join((*lines, "nav: [index.md]")))
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def test_the_copy_button_copies_commands_without_prompts_and_output(browser: Any, site: str) -> None:
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(site)
    page.locator("[data-clipboard-target]").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert [line for line in copied.splitlines() if line] == ["python3 -m venv .venv", "pip install trialbed"]
    context.close()
