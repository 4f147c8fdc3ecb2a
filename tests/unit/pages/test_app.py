"""Every page: its headers, its links, what it says of things that are not there, and whose text is only text."""

from __future__ import annotations

import hashlib
import re
from contextlib import AsyncExitStack
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Mount
from support.stored_columns import CROSSED, load_columns
from support.stored_runs import BEGUN, NEW, OLD, add_begun_run

from trialbed.drivers import load_driver
from trialbed.store import Store
from trialbed_pages import create_app

TRIAL = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=1"
FAILED = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=%22a%2Fb%22"
PAGES = ("/", f"/runs/{NEW}", f"/runs/{NEW}/answers", TRIAL, FAILED)


class Elements(HTMLParser):
    """The elements of a page, by name, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def links(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.found if tag == "a" and "href" in attrs]


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_may_load_its_own_files_only(get: Any, path: str) -> None:
    answer = await get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag, attributes in Elements(answer.text).found:
        assert "style" not in attributes, f"{tag} has a style of its own, which the policy forbids"
        assert not [name for name in attributes if name.startswith("on")]


@pytest.mark.parametrize("path", [*PAGES, f"/runs/{NEW}/body?framework=reference&query=1&kind=request&place=1"])
async def test_what_others_wrote_is_text_and_no_key_is_shown(get: Any, path: str) -> None:
    page = (await get(path)).text
    assert "hidden-password" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", page)


async def test_every_link_leads_somewhere(get: Any) -> None:
    todo, seen = ["/"], set[str]()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = await get(path)
        assert answer.status_code == 200, path
        if answer.headers["content-type"].startswith("text/html"):
            found = (httpx.URL("http://pages").join(path).join(link) for link in Elements(answer.text).links())
            todo += [str(link.raw_path, "ascii") for link in found]
    assert any("/trial?framework=reference" in path for path in seen)
    assert any("/body?" in path for path in seen)


MISSING = [
    ("/runs/nosuch", 404, "no run"),
    ("/nosuch", 404, "no such page"),
    (f"/runs/{NEW}?score=nosuch", 400, "no score"),
    (f"/runs/{NEW}/answers?score=total_tokens", 400, "from 0 to 1; it has"),
    (f"/runs/{NEW}?page=0", 400, "page"),
    (f"/runs/{NEW}/trial?framework=nosuch&query=1", 404, "no trial"),
    (f"/runs/{NEW}/trial?framework=reference&query=[]", 400, "names no task"),
    (f"/runs/{NEW}/trial?framework=reference&query=1&attempt=7", 404, "no attempt 7"),
    (f"/runs/{NEW}/trial?framework=reference&query=1&repeat=99999999999999999999", 404, "has a number above"),
    (f"/runs/{NEW}/trial?framework=reference&query=99999999999999999999", 404, "has a number above"),
    (f"/runs/{NEW}/trial?framework=reference&query=" + "[" * 30_000, 404, "no trial"),
    (f"/runs/{NEW}/body?framework=reference&query=1&kind=request&place=99", 404, "no such request"),
    ("/static/../app.py", 404, "no such"),
]
"""Address, status, and what the page says."""


async def test_what_is_not_there_is_explained(get: Any, tmp_path: Path, clients: Any) -> None:
    for path, status, said in MISSING:
        answer = await get(path)
        assert (answer.status_code, said in answer.text) == (status, True), path
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path)) as client:
        answer = await client.get("/")
    assert (answer.status_code, "There is no store" in answer.text) == (404, True)


async def test_short_names_lead_to_a_run_and_latest_to_the_trial_that_shows_what_went_wrong(
    get: Any, stored: Path
) -> None:
    for name in ("latest", NEW[:8]):
        assert (await get(f"/runs/{name}")).headers["location"] == f"/runs/{NEW}"
    assert (await get("/latest")).headers["location"] == f"{TRIAL}&repeat=0#fault"
    add_begun_run(stored)
    assert (await get("/latest")).headers["location"] == f"/runs/{BEGUN}"


async def test_pages_work_below_another_address(stored: Path, clients: Any) -> None:
    async with clients(create_app(str(stored), stored.parent), root_path="/pages") as client:
        links = Elements((await client.get("/")).text).links()
    assert all(link.startswith(("/pages/", "#")) for link in links)


async def test_the_server_shows_them_if_it_is_told_to(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(stored.parent))
    for pages, status in ((True, 200), (False, 404)):
        options = load_driver("components", "server").ServerOptions(cache=str(stored.parent / "cache.db"), pages=pages)
        app = load_driver("components", "server").create_app(options)
        async with AsyncExitStack() as stack:
            for mounted in (route.app for route in app.routed.routes if isinstance(route, Mount)):
                await stack.enter_async_context(mounted.router.lifespan_context(mounted))
            client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8080")
            await stack.enter_async_context(client)
            assert (await client.get("/pages/")).status_code == status


async def test_runs_are_listed_newest_first_and_can_be_chosen(get: Any, stored: Path) -> None:
    every = (await get("/")).text
    assert "<h1>2 runs</h1>" in every
    assert f'<p class="facts">Store: {stored}</p>' in every
    assert every.index(NEW) < every.index(OLD)
    filtered = (await get("/?framework=langgraph%3Anative")).text
    assert (NEW in filtered, f"/runs/{OLD}" in filtered) == (True, False)
    none = (await get("/?model=nosuch")).text
    assert "No run matches" in none
    assert "Show all 2" in none


async def test_an_empty_store_says_how_to_make_a_run(tmp_path: Path, clients: Any) -> None:
    Store.open(str(tmp_path / "new.db")).close()
    async with clients(create_app(str(tmp_path / "new.db"), tmp_path)) as client:
        assert "bench run --model scripted:wrong-args" in (await client.get("/")).text


async def test_pages_of_a_run_of_several_models_name_them_all_and_trials_their_own(
    tmp_path: Path, clients: Any
) -> None:
    load_columns(str(tmp_path / "trialbed.db"))
    run = f"/runs/{CROSSED}100000-0000aa"
    async with clients(create_app(str(tmp_path / "trialbed.db"), tmp_path)) as client:
        pages = [
            (await client.get(path, follow_redirects=True)).text.replace("<wbr>", "")
            for path in ("/", run, f"{run}/trial?framework=reference%40scripted%3Apartial&query=7")
        ]
    assert "scripted:gold and scripted:partial" in pages[0]
    assert " with scripted:gold and scripted:partial on " in pages[1]
    assert "</span> scripted:partial, seed" in pages[2]


def test_each_vendored_file_is_the_one_that_its_licence_is_noted_for() -> None:
    static = files("trialbed_pages").joinpath("static")
    rows = [line.strip("| ").split(" | ") for line in static.joinpath("LICENSES.md").read_text().splitlines()[2:]]
    for name, _, _, digest in rows:
        assert hashlib.sha256(static.joinpath(name.strip("`")).read_bytes()).hexdigest() == digest
    assert [row[0] for row in rows] == ["`htmx.min.js`"]
