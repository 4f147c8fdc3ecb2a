"""What users call frameworks, and which of them run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trialbed.environments import Label, check_name, read_label, runs_here
from trialbed.errors import DriverNotFound, UsageError

FakeDistribution = Callable[..., Path]


@pytest.fixture
def acme(fake_distribution: FakeDistribution) -> None:
    points = {"trialbed.frameworks": {"acme": "no_such_module:Agent"}}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    fake_distribution("acme", "1.2.0", entry_points={}, modules={})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("crewai", Label("crewai", "crewai")),
        ("crewai==1.15", Label("crewai==1.15", "crewai", "1.15")),
        ("openai-agents==0.24.0rc1", Label("openai-agents==0.24.0rc1", "openai-agents", "0.24.0rc1")),
    ],
)
def test_a_label_is_a_name_and_perhaps_a_release(text: str, expected: Label) -> None:
    assert read_label(text) == expected


@pytest.mark.parametrize("text", ["", "==1", "a b", "a>=1", "a==", "a==>1", "a==1.*", "-a", "a/b", "a==1==2", "a\n"])
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        read_label(text)


def test_a_release_pins_all_that_is_released_together() -> None:
    pins = ("autogen-agentchat==0.7.5", "autogen-core==0.7.5", "autogen-ext==0.7.5")
    assert read_label("autogen==0.7.5").pins == pins
    assert read_label("autogen").pins == ()
    assert read_label("somebodys==1").pins == ("somebodys==1",)


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("label", "here"),
    [("acme", True), ("acme==1.2", True), ("acme==1.2.0", True), ("acme==1.3", False), ("other", False)],
)
def test_what_is_installed_in_this_release_runs_here_and_is_not_imported(label: str, here: bool) -> None:
    assert runs_here(label) is here


def test_an_adapter_without_its_framework_cannot_answer_for_a_release(fake_distribution: FakeDistribution) -> None:
    points = {"trialbed.frameworks": {"acme": "no_such_module:Agent"}}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    assert runs_here("acme")
    assert not runs_here("acme==1.0")


def test_the_reference_loop_runs_here_and_has_no_releases() -> None:
    assert runs_here("reference")
    with pytest.raises(UsageError, match="no releases of its own"):
        runs_here("reference==0.1.0")


def test_what_is_almost_a_known_name_is_refused() -> None:
    with pytest.raises(DriverNotFound, match="did you mean 'langgraph'"):
        check_name(read_label("langraph"))
    check_name(read_label("quitedifferent"))
    check_name(read_label("crewai"))
