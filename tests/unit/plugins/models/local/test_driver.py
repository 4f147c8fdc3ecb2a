"""A local model from its name to its end, with a stand-in for llama.cpp."""

from __future__ import annotations

import json
import os
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import httpx
import pytest

from trialbed.contracts import OpenedModel
from trialbed.errors import ServerUnavailable, UsageError
from trialbed.files import read_text
from trialbed.installed import extra_command
from trialbed.models import find_model, list_models, listing_advice
from trialbed.settings import RunSettings
from trialbed_plugins.models.local import driver

STAND_IN = Path(__file__).parents[4] / "support" / "llama_stand_in"
MESSAGES = {"messages": [{"role": "user", "content": "?"}]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the weights ``small.gguf``, where processes find the stand-in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.setattr(driver, "version", lambda name: "2026.1")
    (tmp_path / "small.gguf").write_bytes(b"GGUF weights")
    return tmp_path


def settings(**chosen: object) -> RunSettings:
    return RunSettings(probe=0, **chosen)  # type: ignore[arg-type] # each test's own


async def ask(model: OpenedModel, key: str | None) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        headers = {"authorization": f"Bearer {key}"}
        return await client.post(f"{model.base_url}/chat/completions", json=MESSAGES, headers=headers)


async def test_a_model_is_served_with_its_template_to_those_who_know_its_key_and_ends_with_the_body(
    folder: Path,
) -> None:
    async with find_model("local:small.gguf").open(settings(chat_template="function-call")) as model:
        loaded = json.loads((await ask(model, model.api_key)).json()["choices"][0]["message"]["content"])
        assert loaded["path"] == str(folder / "small.gguf")
        assert (loaded["context"], loaded["answer"]) == (16_384, 1024)
        assert "<function_call>" in loaded["template"]
        assert (await ask(model, "guessed")).status_code == 401
        assert model.at_once == 1
        (note,) = model.notes
    with pytest.raises(httpx.ConnectError):
        await ask(model, model.api_key)
    log = Path(note.rpartition(": ")[2])
    assert note.startswith("local:small.gguf: template function-call, 16,384 tokens of context; its log: ")
    assert "llama.cpp says this" in read_text(log)  # of its standard output
    assert os.stat(log).st_mode & 0o077 == 0


async def test_weights_that_llama_cpp_refuses_are_an_error_with_the_end_of_its_log(folder: Path) -> None:
    (folder / "broken.gguf").write_bytes(b"GGUF broken")
    with pytest.raises(ServerUnavailable, match=r"local:broken\.gguf cannot be loaded(.|\n)*the weights are broken"):
        async with find_model("local:broken.gguf").open(settings()):
            pass


def test_a_model_is_known_by_its_weights_and_its_template_and_not_by_its_path(folder: Path) -> None:
    (folder / "copy.gguf").write_bytes((folder / "small.gguf").read_bytes())
    small, copy, other = (
        find_model(f"local:{name}.gguf").describe(settings(chat_template=template))
        for name, template in (("small", "auto"), ("copy", "own"), ("small", "function-call"))
    )
    assert small == copy
    assert small.identity != other.identity
    assert (small.told_name, small.at_endpoint, small.costs, small.deterministic) == ("gpt-4o", False, False, True)


def test_files_of_this_folder_are_listed_and_nothing_without_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "local:small.gguf" in dict(list_models(settings()))

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(driver, "installed_names", list)
    assert any(line.startswith("local: no weights are installed; naming one of local:") for line in listing_advice())
    monkeypatch.setattr(driver, "version", missing)
    assert f"local: models on this machine need llama.cpp: {extra_command('local')}" in [*listing_advice()]
    assert not [name for name, _ in list_models(settings()) if name.startswith("local:")]
    with pytest.raises(UsageError, match=r"local:x needs llama\.cpp, which is not installed: pip install .*\[local\]'"):
        find_model("local:x").describe(settings())
