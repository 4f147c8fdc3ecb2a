"""What agents, models, Apis, vendors and users wrote is only text in a real browser, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page
from support.hostile_texts import ALL, TEXTS
from support.served_pages import served_pages
from support.stored_runs import NEW, make_hostile_store
from support.vendor_rows import own_row, write_rows

from trialbed.store import open_store
from trialbed_pages import run_report

pytestmark = pytest.mark.slow(15)

PATHS = [
    "/",
    f"/runs/{NEW}",
    f"/runs/{NEW}/answers",
    "/runs/%3Cscript%3Ewindow.ran=1%3C%2Fscript%3E",
    "/files",
]
ACTIVE = "script, iframe, object, embed, base, meta, link, img, image, math, style"
HANDLERS = "[id^=hostile], [onerror], [onload], [ontoggle], [onfocus], [onmouseover], [autofocus]"
OUTWARD = "a:not([href^='/'], [href^='#'], [href^='?']), a[href^='//'], form[action]:not([action^='/'])"
INVISIBLE = "\x00\x07\x08\x1b\x9b\u202e\u2066\u200b\ufeff"
EVENTS = """() => {
  for (const element of document.querySelectorAll('main *'))
    for (const kind of ['mouseover', 'focus', 'toggle', 'error', 'load'])
      element.dispatchEvent(new Event(kind, {bubbles: false}));
  for (const details of document.querySelectorAll('details')) details.open = true;
}"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the pages of a store and of vendors' files are in which every text is hostile; and the store."""
    folder = tmp_path_factory.mktemp("hostile")
    queries = make_hostile_store(folder / "trialbed.db", ALL)
    files = []
    for vendor in ("first", ALL[:5000]):
        ended = ((1, "stop"), (2, "protocol_error"))
        rows = [own_row(number, outcome, vendor=vendor, model=ALL[:5000]) for number, outcome in ended]
        for row in rows:
            row["response"] = {"choices": [{"message": {"content": ALL}}], "error_message": ALL}
            row["problem"] = row["problem"] and {"kind": "cut_stream", "message": ALL}
        files.append(write_rows(folder / f"{len(files)}.jsonl", rows))
    with served_pages(folder / "trialbed.db", queries, files) as address:
        yield address, folder / "trialbed.db"


@pytest.fixture
def page(browser: Any, hostile: tuple[str, Path]) -> Iterator[Page]:
    """A page as narrow as a telephone's, on which nothing ran, loaded from outside or asked for anything."""
    # Without the policy of the pages, which would hide a text that became an element.
    context: BrowserContext = browser.new_context(
        viewport={"width": 400, "height": 800}, service_workers="block", bypass_csp=True
    )
    outside: list[str] = []
    dialogs: list[str] = []

    def routed(route: Any) -> None:
        if route.request.url.startswith((hostile[0], "file:")):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    context.route("**/*", routed)
    context.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    opened = context.new_page()
    yield opened
    pages = len(context.pages)
    context.close()
    assert (outside, dialogs, pages) == ([], [], 1)


def check(page: Page) -> None:
    """Nothing of the texts became more than text, and the page is not wider than its window."""
    page.wait_for_load_state("networkidle")
    page.evaluate(EVENTS)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("[window.ran, ({}).ran]") == [None, None]
    for unwanted in (f"main :is({ACTIVE})", HANDLERS, OUTWARD):
        assert page.locator(unwanted).count() == 0, unwanted
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert not set(INVISIBLE) & set(page.content())


@pytest.mark.parametrize("path", PATHS)
def test_on_no_page_a_hostile_text_is_more_than_text(page: Page, hostile: tuple[str, Path], path: str) -> None:
    page.goto(hostile[0] + path)
    check(page)


def test_in_no_trial_a_hostile_text_is_more_than_text(page: Page, hostile: tuple[str, Path]) -> None:
    page.goto(f"{hostile[0]}/runs/{NEW}")
    trials = page.locator("td.cell a").evaluate_all("links => links.map(link => link.href)")
    assert trials
    for address in trials:
        page.goto(address)
        page.get_by_role("heading", name="What the server saw").wait_for()
        said = page.locator("main").text_content() or ""
        for name in ("script", "handlers", "svg", "template", "comment", "entity"):
            assert TEXTS[name] in said, name
        check(page)


def test_one_file_is_as_harmless_without_its_policy(page: Page, hostile: tuple[str, Path], tmp_path: Path) -> None:
    with open_store(str(hostile[1])) as store:
        text = run_report(store.run(NEW))
    begin = text.index('<meta http-equiv="Content-Security-Policy"')
    (tmp_path / "run.html").write_text(text[:begin] + text[text.index(">", begin) + 1 :], encoding="utf-8")
    page.goto((tmp_path / "run.html").as_uri())
    check(page)
