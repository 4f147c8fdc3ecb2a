"""Pages in a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright
from support.played_vendors import write_played
from support.served_pages import served_pages
from support.stored_runs import NEW, make_store

from trialbed.records import Score
from trialbed.store import Store

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ABSENT = "no Chromium is installed (Debian: apt-get install chromium-headless-shell); no page was looked at"
AXE = "axe-core@4.14.1"


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the pages of a store of two runs are, of two vendors, and of what was measured of frameworks."""
    folder = tmp_path_factory.mktemp("pages")
    make_store(folder / "trialbed.db")
    _add_times(folder / "trialbed.db")
    files = [write_played(folder / f"{name}.jsonl", seed) for seed, name in enumerate(("official", "acme"))]
    with served_pages(folder / "trialbed.db", folder, files) as served:
        yield served


def _add_times(path: Path) -> None:
    """Add the times that scorers note, which the page of a run draws."""
    times = {"wall_time": 2.0, "model_time": 1.0, "tool_time": 0.5, "framework_time": 0.5}
    scores = [Score(name=name, value=value, bounded=False) for name, value in times.items()]
    with Store.open(str(path)) as store:
        for trial in list(store.each_attempt(NEW)):
            if trial.outcome.answer is not None:
                store.add_scores(NEW, trial, scores)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without its sandbox where it runs as root.

    Not for the whole session: Playwright keeps an event loop running, in which no asynchronous test can run.
    """
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(ABSENT)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Any, address: str) -> Iterator[BrowserContext]:
    """A context in which every request to elsewhere fails, and fails the test; as do errors on the page."""
    context = browser.new_context(service_workers="block", reduced_motion="reduce", bypass_csp=False)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    outside: list[str] = []
    host = urlsplit(address).netloc

    def routed(route: Any) -> None:
        if urlsplit(route.request.url).netloc == host:
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    context.route("**/*", routed)
    context.route_web_socket("**/*", lambda socket: (outside.append(socket.url), socket.close()))
    errors: list[str] = []
    context.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    yield context
    context.close()
    assert outside == []
    assert errors == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page in it."""
    return context.new_page()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, which finds barriers; from npm, or from the file that ``TRIALBED_TEST_AXE`` names."""
    given = os.environ.get("TRIALBED_TEST_AXE")
    if given:
        return Path(given).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, and TRIALBED_TEST_AXE names no axe.min.js; accessibility was not checked")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), AXE],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"{AXE} could not be installed: {done.stderr[-300:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
