"""Every page, and what each answer carries."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack, nullcontext
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Mount
from support.stored_columns import CROSSED, load_columns
from support.stored_runs import BEGUN, NEW, OLD, add_begun_run, make_hostile_store, trial

from trialbed.drivers import load_driver
from trialbed.prices import read_prices
from trialbed.records import Failure, Score
from trialbed.store import Store, open_store
from trialbed_pages import create_app

TRIAL = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=1"
FAILED = f"/runs/{NEW}/trial?framework=langgraph%3Anative&query=%22a%2Fb%22"
PAGES = ("/", *(f"/runs/{NEW}{part}" for part in ("", "/queries", "/answers")), TRIAL, FAILED)


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
async def test_every_page_is_shown_and_may_load_its_own_files_only(get: Any, path: str) -> None:
    answer = await get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag, attributes in Elements(answer.text).found:
        assert "style" not in attributes, f"{tag} has a style of its own, which the policy forbids"
        assert not [name for name in attributes if name.startswith("on")]


async def test_the_newest_run_is_opened_where_something_went_wrong(get: Any, stored: Path) -> None:
    assert (await get("/latest")).headers["location"] == f"{TRIAL}&repeat=0#fault"
    add_begun_run(stored)
    assert (await get("/latest")).headers["location"] == f"/runs/{BEGUN}"


@pytest.mark.parametrize("part", ["", "/queries", "/answers"])
async def test_a_run_of_which_no_trial_has_ended_has_every_page(get: Any, stored: Path, part: str) -> None:
    add_begun_run(stored)
    answer = await get(f"/runs/{BEGUN}{part}")
    assert answer.status_code == 200
    assert BEGUN in answer.text
    if not part:
        assert "No setup has a result yet: 4 trials were not measured." in answer.text


async def test_a_run_that_is_incomplete_says_why_and_how_to_complete_it(get: Any, stored: Path) -> None:
    add_begun_run(stored, ("reference",))
    failure = Failure(kind="replay", message="request 1 is not the recorded one")
    with Store.open(str(stored)) as store:
        for query_id in (1, "a/b"):
            lost = trial("reference", query_id, wrong=False)
            outcome = lost.outcome.model_copy(update={"answer": None, "failure": failure})
            store.add_trial(BEGUN, lost.model_copy(update={"outcome": outcome, "scores": ()}))
        store.update_run(BEGUN, status="incomplete")
    text = (await get(f"/runs/{BEGUN}")).text
    assert "reference: 2 of 2 trials were not measured (replay): request 1 is not the recorded one" in text
    assert "INCOMPLETE: 2 trials were not measured; the same command with --on-miss ask" in text


async def test_a_run_under_way_is_looked_at_again_and_lacks_nothing_yet(get: Any, stored: Path) -> None:
    add_begun_run(stored)
    with Store.open(str(stored)) as store:
        for is_running in (True, False):
            with store.lock(BEGUN) if is_running else nullcontext():
                page = (await get(f"/runs/{BEGUN}")).text
            assert ("0 of 4 trials have ended" in page, 'hx-trigger="every' in page) == (is_running, is_running)
            assert ("INCOMPLETE: 4 trials were not measured" in page) != is_running


async def test_a_translated_request_is_marked(get: Any) -> None:
    marked = "put to the model's endpoint in another dialect: messages"
    paths = TRIAL, TRIAL.replace("langgraph%3Anative", "reference")
    assert [(await get(path)).text.count(marked) for path in paths] == [1, 0]
    run = (await get(f"/runs/{NEW}")).text
    assert "put to the model in another dialect, as its endpoint does not speak" in run


async def test_every_link_leads_somewhere(get: Any) -> None:
    todo, seen = ["/"], set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = await get(path)
        assert answer.status_code == 200, path
        if answer.headers["content-type"].startswith("text/html"):
            links = (
                str(httpx.URL("http://pages").join(path).join(link).raw_path, "ascii")
                for link in Elements(answer.text).links()
            )
            todo += [link for link in links if link not in seen]
    assert any("/trial?framework=reference" in path for path in seen)
    assert any("/body?" in path for path in seen)


async def test_the_worst_query_is_three_links_from_the_first_page(get: Any) -> None:
    run = next(link for link in Elements((await get("/")).text).links() if NEW in link)
    worst = next(link for link in Elements((await get(run)).text).links() if "/trial?" in link and "query=1" in link)
    page = (await get(worst)).text
    assert "Weather/now was refused: &#39;city&#39; is a required property" in page
    assert f"bench show {NEW} langgraph:native/1" in page
    assert "bench run -f langgraph:native" in page


@pytest.mark.parametrize("path", [*PAGES, f"/runs/{NEW}/body?framework=reference&query=1&kind=request&place=1"])
async def test_what_others_wrote_is_text_and_no_key_is_shown(get: Any, path: str) -> None:
    page = (await get(path)).text
    assert "hidden-password" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", page)


MISSING = [
    ("/runs/nosuch", 404, "no run"),
    ("/nosuch", 404, "no such page"),
    (f"/runs/{NEW}/queries?score=nosuch", 400, "no score"),
    (f"/runs/{NEW}/queries?score=total_tokens", 400, "from 0 to 1; it has"),
    (f"/runs/{NEW}/queries?page=0", 400, "page"),
    (f"/runs/{NEW}/trial?framework=nosuch&query=1", 404, "no trial"),
    (f"/runs/{NEW}/trial?framework=reference&query=[]", 400, "names no task"),
    (f"/runs/{NEW}/trial?framework=reference&query=1&attempt=7", 404, "no attempt 7"),
    (
        f"/runs/{NEW}/trial?framework=reference&query=1&repeat=99999999999999999999",
        404,
        "no trial has a number above",
    ),
    (f"/runs/{NEW}/trial?framework=reference&query=99999999999999999999", 404, "no trial has a number above"),
    (f"/runs/{NEW}/trial?framework=reference&query=" + "[" * 30_000, 404, "no trial"),
    (f"/runs/{NEW}/body?framework=reference&query=1&kind=request&place=99", 404, "no such request"),
    ("/static/../app.py", 404, "no such"),
]
"""Address, status, and what the page says."""


async def test_what_is_not_there_is_explained(get: Any) -> None:
    for path, status, said in MISSING:
        answer = await get(path)
        assert (answer.status_code, said in answer.text) == (status, True), path


async def test_a_store_that_is_not_there_is_explained(tmp_path: Path) -> None:
    transport = httpx.ASGITransport(create_app(str(tmp_path / "none.db"), tmp_path))
    async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
        answer = await client.get("/")
    assert answer.status_code == 404
    assert "There is no store" in answer.text


async def test_the_beginning_of_an_id_and_latest_lead_to_the_run(get: Any) -> None:
    for name in ("latest", NEW[:8]):
        assert (await get(f"/runs/{name}")).headers["location"] == f"/runs/{NEW}"


async def test_an_empty_store_says_how_to_make_a_run(tmp_path: Path, clients: Any) -> None:
    Store.open(str(tmp_path / "new.db")).close()
    async with clients(create_app(str(tmp_path / "new.db"), tmp_path)) as client:
        assert "bench run --model scripted:wrong-args" in (await client.get("/")).text


async def test_the_page_of_a_run_begins_with_its_result_and_has_the_differences(get: Any) -> None:
    text = (await get(f"/runs/{NEW}")).text
    assert text.index(
        "reference solves most (100 %), but with 2 tasks no difference from it is significant"
    ) < text.index("compared with reference")


async def test_the_list_is_titled_by_its_runs_and_names_its_store_below(get: Any, stored: Path) -> None:
    text = (await get("/")).text
    assert "<h1>2 runs</h1>" in text
    assert f'<p class="facts">Store: {stored}</p>' in text


async def test_a_filter_that_no_run_fits_leads_back_to_all(get: Any) -> None:
    text = (await get("/?model=nosuch")).text
    assert "No run matches" in text
    assert "Show all 2" in text


async def test_the_best_framework_stands_first(get: Any) -> None:
    text = (await get(f"/runs/{NEW}")).text
    board = text[text.index("<tbody>") : text.index("</tbody>")]
    assert board.index("reference") < board.index("langgraph:")


async def test_runs_are_listed_newest_first_and_by_what_they_are_of(get: Any) -> None:
    every = (await get("/")).text
    assert every.index(NEW) < every.index(OLD)
    filtered = (await get("/?framework=langgraph%3Anative")).text
    assert NEW in filtered
    assert f"/runs/{OLD}" not in filtered


async def test_pages_work_below_another_address(stored: Path, clients: Any) -> None:
    async with clients(create_app(str(stored), stored.parent), root_path="/pages") as client:
        links = Elements((await client.get("/")).text).links()
    assert all(link.startswith(("/pages/", "#")) for link in links)


async def test_the_server_shows_them_where_it_is_told_to(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(stored.parent))
    for pages, status in ((True, 200), (False, 404)):
        options = load_driver("components", "server").ServerOptions(cache=str(stored.parent / "cache.db"), pages=pages)
        app = load_driver("components", "server").create_app(options)
        transport = httpx.ASGITransport(app)
        async with AsyncExitStack() as stack:
            for mounted in (route.app for route in app.routed.routes if isinstance(route, Mount)):
                await stack.enter_async_context(mounted.router.lifespan_context(mounted))
            client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080")
            await stack.enter_async_context(client)
            assert (await client.get("/pages/")).status_code == status


async def test_a_run_with_prices_shows_its_costs(stored: Path, get: Any) -> None:
    assert "cost" not in (await get(f"/runs/{NEW}")).text
    add_begun_run(stored, ("reference",))
    priced = {
        "cost": 0.1,
        "scores": (Score(name="sopr_score", value=1.0, label="Solved"), Score(name="cost", value=0.25, bounded=False)),
    }
    with Store.open(str(stored)) as store:
        store.update_run(BEGUN, prices={"scripted:gold": read_prices("1000,0")}, status="finished")
        for query_id in (1, "a/b"):
            store.add_trial(BEGUN, trial("reference", query_id, wrong=False).model_copy(update=priced))
    page = (await get(f"/runs/{BEGUN}")).text
    for cell in ("$0.25", "0.2", "0.1"):  # of a trial; of all trials; of each that is solved
        assert re.search(rf"<td[^>]*>{re.escape(cell)}</td>", page)


async def test_pages_of_a_run_of_several_models_name_them_all_and_trials_their_own(
    tmp_path: Path, clients: Any
) -> None:
    load_columns(str(tmp_path / "trialbed.db"))
    async with clients(create_app(str(tmp_path / "trialbed.db"), tmp_path)) as client:
        run = (await client.get(f"/runs/{CROSSED}100000-0000aa", follow_redirects=True)).text
        assert " with scripted:gold and scripted:partial on " in run
        listed = (await client.get("/")).text
        assert "scripted:gold and scripted:partial" in re.sub(r"<wbr>", "", listed)
        where = "trial?framework=reference%40scripted%3Apartial&query=7"
        trial = (await client.get(f"/runs/{CROSSED}100000-0000aa/{where}", follow_redirects=True)).text
        assert "</span> scripted:partial, seed" in trial


async def test_a_run_whose_dataset_is_edited_meanwhile_is_shown_with_its_own_tasks(
    tmp_path: Path, clients: Any
) -> None:
    make_hostile_store(tmp_path / "trialbed.db", "Weather in Lima?")
    dataset = tmp_path / "queries.json"
    async with clients(create_app(str(tmp_path / "trialbed.db"), tmp_path)) as client:
        assert "tasks are not shown" not in (await client.get(f"/runs/{NEW}")).text
        dataset.write_text(dataset.read_text("utf-8").replace("Lima?", "Rome?"), "utf-8")
        answer = await client.get(f"/runs/{NEW}/queries")
        assert (answer.status_code, "Lima?" in answer.text, "Rome?" in answer.text) == (200, True, False)


async def test_the_command_of_a_trial_whose_dataset_was_edited_is_said_to_name_another_task_perhaps(
    tmp_path: Path, clients: Any
) -> None:
    dataset = make_hostile_store(tmp_path / "trialbed.db", "Weather in Lima?") / "queries.json"
    for place in ("Lima?", "Rome?"):
        dataset.write_text(dataset.read_text("utf-8").replace("Lima?", place), "utf-8")
        async with clients(create_app(str(tmp_path / "trialbed.db"), tmp_path)) as client:
            links = Elements((await client.get(f"/runs/{NEW}/queries")).text).links()
            page = (await client.get(next(link for link in links if "/trial?" in link))).text
            assert "bench run -f" in page
            assert ("may name another task now" in page) == (place == "Rome?")


async def test_the_command_of_a_task_with_functions_is_said_to_read_their_file_as_it_is_now(
    tmp_path: Path, clients: Any
) -> None:
    kept = make_hostile_store(path := tmp_path / "trialbed.db", "Weather in Lima?") / "queries.json"
    with Store.open(str(path)) as store, open_store(str(path)) as reader:
        old = reader.run(NEW).record
        config = old.config.model_copy(update={"dataset": str(kept), "dataset_file": "desk.py"})
        store.create_run(old.model_copy(update={"run_id": "copied", "config": config}))
        store.add_trial("copied", reader.run(NEW).trials()[0])
    async with clients(create_app(str(path), tmp_path)) as client:
        for name, noted in (("copied", True), (NEW, False)):
            links = Elements((await client.get(f"/runs/{name}/queries")).text).links()
            page = (await client.get(next(link for link in links if "/trial?" in link))).text
            assert ("It reads <code>desk.py</code> as it is now" in page) == noted
