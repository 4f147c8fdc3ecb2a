"""Profiles of frameworks: found in metadata, and the labels that a run gets from what was asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.environments import (
    adapter_info,
    check_wanted,
    expand_profiles,
    profiles_of,
    runs_here,
)
from trialbed.errors import DriverNotFound, UsageError
from trialbed.records import Environment

ROOT = Path(__file__).parents[4]
FakeDistribution = Callable[..., Path]


@pytest.fixture(autouse=True)
def installed(fake_distribution: FakeDistribution) -> None:
    """``acme`` has three profiles, ``plain`` none, ``odd`` one that is not ``native``."""
    names = ("acme:tuned", "acme:native", "acme:controlled", "plain", "odd:fast")
    points = {"trialbed.frameworks": dict.fromkeys(names, "no_such_module:Agent")}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    fake_distribution("acme", "1.2.0", entry_points={}, modules={})


def test_profiles_are_read_from_metadata() -> None:
    assert profiles_of("acme") == ("controlled", "native", "tuned")
    assert profiles_of("plain") == ()
    assert profiles_of("absent") == ()


def test_an_adapter_is_described_by_its_native_profile() -> None:
    assert adapter_info("acme").name == "acme:native"
    assert adapter_info("odd").name == "odd:fast"
    assert runs_here("acme")
    assert runs_here("acme:tuned")
    assert runs_here("acme:tuned==1.2")
    assert not runs_here("acme:tuned==1.3")


@for_each(
    ("asked", "wanted", "labels"),
    [
        (["acme"], [], ["acme:native"]),
        (["acme", "acme:native"], [], ["acme:native"]),
        (["acme==1.2"], [], ["acme:native==1.2"]),
        (["plain"], [], ["plain"]),
        (["plain", "acme"], ["native", "controlled"], ["plain", "acme:native", "acme:controlled"]),
        (["acme:tuned", "acme==1.2"], ["controlled"], ["acme:tuned", "acme:controlled==1.2"]),
        (["odd"], [], ["odd:fast"]),
        ([], ["native"], []),
    ],
)
def test_labels(asked: list[str], wanted: list[str], labels: list[str]) -> None:
    assert list(expand_profiles(asked, wanted, {})) == labels


@for_each(
    ("asked", "wanted", "text"),
    [
        ("acme:natve", [], "acme:natve: unknown profile 'natve'; did you mean 'native'?"),
        ("odd", ["native"], "odd: unknown profile 'native'. The profiles of odd are fast"),
        ("plain:native", [], "plain:native: plain has no profiles; write it without ':native'"),
    ],
)
def test_a_profile_that_an_adapter_does_not_have_is_refused(asked: str, wanted: list[str], text: str) -> None:
    with pytest.raises(UsageError) as refusal:
        expand_profiles([asked], wanted, {})
    assert str(refusal.value).startswith(text)


def test_a_framework_that_is_not_installed_is_not_found() -> None:
    with pytest.raises(DriverNotFound):
        expand_profiles(["nowhere"], [], {})


def test_a_misspelt_framework_with_profiles_is_suggested_and_nothing_to_install() -> None:
    with pytest.raises(DriverNotFound) as refusal:
        adapter_info("acmee")
    assert "`bench env add acmee --adapter REQUIREMENT`" in str(refusal.value)
    assert "pip install" not in str(refusal.value)


def test_a_profile_that_no_framework_of_the_run_has_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown profile 'nativ'; did you mean 'native'"):
        check_wanted(["plain"], ["native", "nativ"])
    check_wanted(["plain"], ["native"])
    check_wanted(["plain", "other:quick"], ["quick"])


def test_the_profiles_of_an_environment_are_read_there(tmp_path: Path) -> None:
    info = tmp_path / "lib" / "python3.11" / "site-packages" / "trialbed_other-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trialbed-other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[trialbed.frameworks]\nother:native = m:A\nother:quick = m:B\n")
    environment = Environment(python=str(tmp_path / "bin" / "python"), lock="")
    assert expand_profiles(["other==2"], ["quick"], {"other==2": environment}) == {"other:quick==2": "other==2"}
