"""Which runs have a model cache, and who their model is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trialbed.contracts import ModelInfo
from trialbed.errors import UsageError
from trialbed.models import choose_cache
from trialbed.settings import RunSettings

URL = "http://127.0.0.1:8000/v1"
LOCAL, ENDPOINT = ModelInfo(identity="weights", cached=True), ModelInfo(at_endpoint=True)
SCRIPTED = ModelInfo(cached=False, deterministic=True)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def chosen(model: ModelInfo, **settings: Any) -> tuple[str, str] | None:
    found = choose_cache("small", RunSettings(**settings), model)
    return None if found is None else (str(found[0].relative_to(Path.cwd())), found[1])


def test_local_models_have_one_unless_it_is_off() -> None:
    assert chosen(LOCAL) == (".trialbed/model-answers.db", "weights")
    assert chosen(LOCAL, model_cache="off") is None
    assert chosen(LOCAL, model_cache="folder/a.db") == ("folder/a.db", "weights")


def test_endpoints_have_one_where_it_is_asked_for_and_are_known_by_their_address() -> None:
    assert chosen(ENDPOINT, base_url=URL) is None
    assert chosen(ENDPOINT, base_url=URL, model_cache="a.db") == ("a.db", f"small at {URL}")
    assert chosen(ENDPOINT, base_url="http://me:password@host/v1", model_cache="a.db") == (
        "a.db",
        "small at http://host/v1",
    )


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [(SCRIPTED, {}, "are always the same"), (LOCAL, {"server_url": "http://127.0.0.1:8080"}, "leave out --server-url")],
)
def test_what_cannot_be_kept_is_refused(model: ModelInfo, settings: dict[str, str], message: str) -> None:
    assert chosen(model, **settings) is None
    with pytest.raises(UsageError, match=message):
        chosen(model, model_cache="a.db", **settings)
