"""Frameworks as users name them: what the names stand for, which run here, and where their adapters come from."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.environments import (
    FIRST_PARTY,
    FrameworkSpec,
    adapter_distribution,
    adapter_info,
    adapter_requirement,
    check_wanted,
    expand_profiles,
    install_command,
    own_requirement,
    profiles_of,
    runs_here,
)
from trialbed.errors import DriverNotFound, UsageError
from trialbed.records import Environment, framework_name

FakeDistribution = Callable[..., Path]
GROUP = "trialbed.frameworks"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ADAPTERS = Path(__file__).parents[4] / "adapters"
PROJECTS = {
    file.parent.name: tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    for file in ADAPTERS.glob("[a-z]*/pyproject.toml")
}
FRAMEWORKS = {
    name: project for name, project in PROJECTS.items() if "trialbed.frameworks" in project.get("entry-points", {})
}


@pytest.fixture
def acme(fake_distribution: FakeDistribution) -> None:
    points = {"trialbed.frameworks": {"acme": "no_such_module:Agent"}}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    fake_distribution("acme", "1.2.0", entry_points={}, modules={})


@for_each(
    ("text", "expected"),
    [
        ("crewai", FrameworkSpec("crewai", "crewai")),
        ("crewai==1.15", FrameworkSpec("crewai==1.15", "crewai", "1.15")),
        ("openai-agents==0.24.0rc1", FrameworkSpec("openai-agents==0.24.0rc1", "openai-agents", "0.24.0rc1")),
        ("crewai:native", FrameworkSpec("crewai", "crewai")),
        ("crewai:native==1.15", FrameworkSpec("crewai==1.15", "crewai", "1.15")),
    ],
)
def test_a_framework_is_asked_for_by_a_name_and_perhaps_a_release(text: str, expected: FrameworkSpec) -> None:
    assert FrameworkSpec.parse(text) == expected


@for_each(
    "text",
    ["", "==1", "a b", "a>=1", "a==", "a==>1", "a==1.*", "-a", "a/b", "a==1==2", "a\n", "a:", "a:==1", ":b", "a:b:c"],
)
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        FrameworkSpec.parse(text)


def test_a_release_pins_all_that_is_released_together() -> None:
    pins = ("autogen-agentchat==0.7.5", "autogen-core==0.7.5", "autogen-ext==0.7.5")
    assert FrameworkSpec.parse("autogen==0.7.5").pins == pins
    assert FrameworkSpec.parse("autogen").pins == ()
    assert FrameworkSpec.parse("somebodys==1").pins == ("somebodys==1",)
    # What a release cannot be imported with is kept out.
    company = {"1.0.0": ["langgraph-prebuilt<1.0.9"], "1.1.4": ["langgraph-prebuilt<1.0.9"], "1.1.5": [], "1.1.10": []}
    for release, others in company.items():
        assert FrameworkSpec.parse(f"langgraph=={release}").pins == (f"langgraph=={release}", *others)


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("label", "here"),
    [("acme", True), ("acme==1.2", True), ("acme==1.2.0", True), ("acme==1.3", False), ("other", False)],
)
def test_what_is_installed_in_this_release_runs_here_and_is_not_imported(label: str, here: bool) -> None:
    assert runs_here(label) is here


def test_every_adapter_of_the_repository_is_known_by_its_folder() -> None:
    assert set(FRAMEWORKS) == set(FIRST_PARTY)
    for name, project in FRAMEWORKS.items():
        assert project["name"] == adapter_distribution(name)
        assert {framework_name(label) for label in project["entry-points"]["trialbed.frameworks"]} == {name}


@pytest.mark.parametrize(("label", "here"), [("parted==2.0", True), ("parted==7.7", False), ("parted", True)])
def test_an_adapter_says_which_distributions_are_its_framework(
    fake_distribution: FakeDistribution, label: str, here: bool
) -> None:
    points = {GROUP: {"parted": "trialbed_parted:Agent"}, "trialbed.distributions": {"parted-slim": "trialbed_parted"}}
    fake_distribution("trialbed-parted", "0.3", entry_points=points, modules={})
    fake_distribution("parted-slim", "2.0", entry_points={}, modules={})
    fake_distribution("parted", "7.7", entry_points={}, modules={})
    spec = FrameworkSpec.parse("parted==2.0")
    assert (spec.packages, spec.pins) == (("parted-slim",), ("parted-slim==2.0",))
    assert runs_here(label) is here


URL = "https://git.example/trialbed.git"
GIT = {"url": URL, "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}}
FROM_GIT = f"git+{URL}@{COMMIT}#subdirectory="


@pytest.mark.parametrize(
    ("direct", "own", "adapter", "installs"),
    [
        (None, "trialbed==0.1.7", "trialbed-crewai", "pip install trialbed-crewai"),
        (
            {"url": "{here}/trialbed-0.1.7-py3-none-any.whl", "archive_info": {"hashes": {"sha256": "ab"}}},
            "trialbed @ {here}/trialbed-0.1.7-py3-none-any.whl",
            "trialbed-crewai @ {here}/trialbed_crewai-0.1.10-py3-none-any.whl",
            "",
        ),
        (
            {"url": "{here}/a%20checkout", "dir_info": {"editable": True}},
            "-e {here}/a%20checkout",
            "-e {here}/a%20checkout/adapters/crewai",
            "pip install -e '{folder}/a checkout/adapters/crewai'",
        ),
        (
            {"url": "{here}/a%20checkout", "dir_info": {}},
            "trialbed @ {here}/a%20checkout",
            "trialbed-crewai @ {here}/a%20checkout/adapters/crewai",
            "pip install '{folder}/a checkout/adapters/crewai'",
        ),
        (GIT, f"trialbed @ git+{URL}@{COMMIT}", f"trialbed-crewai @ {FROM_GIT}adapters/crewai", ""),
        (
            GIT | {"subdirectory": "inner"},
            f"trialbed @ {FROM_GIT}inner",
            f"trialbed-crewai @ {FROM_GIT}inner/adapters/crewai",
            "",
        ),
    ],
)
def test_adapters_come_from_where_trialbed_came_from(
    fake_distribution: FakeDistribution,
    tmp_path: Path,
    direct: dict[str, Any] | None,
    own: str,
    adapter: str,
    installs: str,
) -> None:
    folder = tmp_path / "origin"
    project = folder / "a checkout" / "adapters" / "crewai"
    project.mkdir(parents=True)
    (project / "pyproject.toml").write_text("")
    for name in ("trialbed-0.1.7", "trialbed_crewai-0.1.2", "trialbed_crewai-0.1.10", "trialbed_agno-1"):
        (folder / f"{name}-py3-none-any.whl").write_text("")

    def there(text: str) -> str:
        return text.replace("{here}", folder.as_uri()).replace("{folder}", str(folder))

    installed = fake_distribution("trialbed", "0.1.7", entry_points={}, modules={})
    (info,) = installed.glob("*.dist-info")
    if direct is not None:
        (info / "direct_url.json").write_text(there(json.dumps(direct)))
    assert own_requirement() == there(own)
    assert adapter_requirement("crewai") == there(adapter)
    assert adapter_requirement("somebodys") == "trialbed-somebodys"
    if installs:
        assert install_command("crewai") == there(installs)


def test_an_adapter_that_is_installed_here_is_the_one_that_is_used(
    fake_distribution: FakeDistribution, tmp_path: Path
) -> None:
    points = {"trialbed.frameworks": {"acme": "acme_module:Agent"}}
    folder = fake_distribution("acmes-own-adapter", "4.2", entry_points=points, modules={})
    assert adapter_requirement("acme") == "acmes-own-adapter==4.2"
    (info,) = folder.glob("*.dist-info")
    (info / "direct_url.json").write_text(json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}}))
    assert adapter_requirement("acme") == f"-e {tmp_path.as_uri()}"


def test_a_name_that_is_not_there_gets_a_suggestion_and_nothing_to_install() -> None:
    with pytest.raises(DriverNotFound) as raised:
        adapter_info("referense")
    text = str(raised.value)
    assert "did you mean 'reference'?" in text
    assert "`bench env add referense --adapter REQUIREMENT`" in text
    assert "pip install" not in text, (
        "the name is most likely misspelt, and anybody could publish a package of that name"
    )


@pytest.fixture
def profiled(fake_distribution: FakeDistribution) -> None:
    """``acme`` has three profiles, ``plain`` none, ``odd`` one that is not ``native``."""
    names = ("acme:tuned", "acme:native", "acme:controlled", "plain", "odd:fast")
    points = {"trialbed.frameworks": dict.fromkeys(names, "no_such_module:Agent")}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    fake_distribution("acme", "1.2.0", entry_points={}, modules={})


@pytest.mark.usefixtures("profiled")
def test_profiles_are_read_from_metadata() -> None:
    assert profiles_of("acme") == ("controlled", "native", "tuned")
    assert profiles_of("plain") == ()
    assert profiles_of("absent") == ()


@pytest.mark.usefixtures("profiled")
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


@pytest.mark.usefixtures("profiled")
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
