"""The page of answers, and what people say on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.stored_runs import NEW

from trialbed.records import Annotation
from trialbed.store import open_store
from trialbed_pages import create_app

ADDRESS = f"/runs/{NEW}/annotation"
FORM = {
    "framework": "reference",
    "query": "1",
    "repeat": "0",
    "rating": "wrong",
    "note": "no\r\nsource",
    "correction": "7",
}


@pytest.fixture
async def client(stored: Path, clients: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with clients(create_app(str(stored), stored.parent, writable=True)) as client:
        yield client


async def test_each_answer_stands_beside_its_reason(client: httpx.AsyncClient) -> None:
    page = (await client.get(f"/runs/{NEW}/answers")).text
    assert page.count('<form class="annotation"') == page.count('<div class="said answer">') + page.count("no answer")
    assert '<p class="reason"><b>' in page
    assert (await client.get(f"/runs/{NEW}/answers?text=nothing+at+all")).text.count("<td") == 0


async def test_what_is_said_stays_with_the_run_until_it_is_taken_back(client: httpx.AsyncClient, stored: Path) -> None:
    answer = await client.post(ADDRESS, data=FORM, headers={"sec-fetch-site": "same-origin", "hx-request": "true"})
    assert answer.status_code == 204
    page = (await client.get(f"/runs/{NEW}/answers")).text
    assert "<option selected>wrong</option>" in page
    with open_store(str(stored)) as reader:
        run = reader.run(NEW)
        said = Annotation(framework="reference", query_id=1, rating="wrong", note="no\nsource", correction="7")
        assert list(run.annotations.values()) == [said]
    empty = FORM | {"rating": "", "note": " ", "correction": ""}
    assert (await client.post(ADDRESS, data=empty)).status_code == 303
    with open_store(str(stored)) as reader:
        assert reader.run(NEW).annotations == {}


@pytest.mark.parametrize(
    ("form", "headers", "status", "says"),
    [
        (FORM, {"sec-fetch-site": "cross-site"}, 403, "Only these pages"),
        (FORM, {"origin": "http://elsewhere"}, 403, "Only these pages"),
        (FORM | {"rating": "great"}, {}, 400, "write right, wrong or unclear"),
        (FORM | {"repeat": "x"}, {}, 400, "is not a number"),
        (FORM | {"query": "99"}, {}, 404, "has no trial"),
        (FORM | {"note": "x" * 200_000}, {}, 400, "is not read"),
    ],
)
async def test_what_is_no_annotation_is_refused(
    client: httpx.AsyncClient, stored: Path, form: dict[str, str], headers: dict[str, str], status: int, says: str
) -> None:
    answer = await client.post(ADDRESS, data=form, headers=headers)
    assert (answer.status_code, says in answer.text) == (status, True)
    with open_store(str(stored)) as reader:
        assert reader.run(NEW).annotations == {}


async def test_pages_for_others_take_none(stored: Path, clients: Any) -> None:
    async with clients(create_app(str(stored), stored.parent)) as client:
        assert (await client.post(ADDRESS, data=FORM)).status_code in (404, 405)
        assert '<form class="annotation"' not in (await client.get(f"/runs/{NEW}/answers")).text
