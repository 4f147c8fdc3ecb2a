"""Recordings by name: which are listed, and which are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.trials import run_config

from trialbed.errors import UsageError
from trialbed.models import find_model
from trialbed.settings import RunSettings
from trialbed.store import Store, new_run
from trialbed_plugins.recordings import Cassette, RecordedReply, write_cassette


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    """The settings of a folder with a cassette."""
    monkeypatch.chdir(tmp_path)
    reply = RecordedReply(1, 0, {"messages": []}, "{}", stream=False, duration=1.0)
    write_cassette(Cassette("small", "m", "told", [reply]), tmp_path / "good.cassette")
    return RunSettings(store=str(tmp_path / "store.db"))


def test_cassettes_of_this_folder_are_listed_after_those_that_come_with_trialbed(settings: RunSettings) -> None:
    assert find_model("replay:").driver.names(settings) == ["qwen2.5-coder-0.5b", "good.cassette"]


def test_a_cassette_is_known_by_its_content_and_told_as_it_was_recorded(settings: RunSettings) -> None:
    Path("copy").write_bytes(Path("good.cassette").read_bytes())
    good, copy = (find_model(f"replay:{name}").describe(settings) for name in ("good.cassette", "copy"))
    assert good == copy
    assert (good.told_name, good.at_endpoint, good.costs, good.deterministic) == ("told", False, False, True)


def test_a_recording_has_answers_for_the_seeds_of_its_trials_unless_it_asks(settings: RunSettings) -> None:
    model = find_model("replay:good.cassette")
    answers = model.describe(settings).answers_seed
    assert answers is not None
    assert [answers(seed) for seed in (1, 2)] == [True, False]
    assert model.describe(replace(settings, on_miss="ask")).answers_seed is None


@pytest.mark.parametrize("name", ["nothing.cassette", ""])
def test_what_is_not_there_is_refused(settings: RunSettings, name: str) -> None:
    with pytest.raises(UsageError, match=r"neither a file.*come with Trialbed: qwen|names no recording"):
        find_model(f"replay:{name}").describe(settings)


def test_the_latest_run_is_to_be_named(settings: RunSettings) -> None:
    with Store.open(settings.store) as store:
        run = new_run(run_config(), "digest")
        store.create_run(run)
    with pytest.raises(UsageError, match=f"name the run: replay:{run.run_id}$"):
        find_model("replay:latest").describe(settings)
