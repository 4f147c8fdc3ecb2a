"""Frameworks as users name them: what the names stand for, which run here, and where their adapters come from."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from support.cases import for_each

from trialbed.environments import (
    FIRST_PARTY,
    FrameworkSpec,
    adapter_distribution,
    adapter_info,
    check_name,
    install_command,
    runs_here,
)
from trialbed.environments._frameworks import DISTRIBUTIONS, PACKAGES, adapter_requirement, own_requirement
from trialbed.errors import DriverNotFound, UsageError
from trialbed.records import framework_name

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
    [
        "",
        "==1",
        "a b",
        "a>=1",
        "a==",
        "a==>1",
        "a==1.*",
        "-a",
        "a/b",
        "a==1==2",
        "a\n",
        "a:",
        "a:==1",
        ":b",
        "a:b:c",
        "a: b",
    ],
)
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        FrameworkSpec.parse(text)


def test_a_release_pins_all_that_is_released_together() -> None:
    pins = ("autogen-agentchat==0.7.5", "autogen-core==0.7.5", "autogen-ext==0.7.5")
    assert FrameworkSpec.parse("autogen==0.7.5").pins == pins
    assert FrameworkSpec.parse("autogen").pins == ()
    assert FrameworkSpec.parse("somebodys==1").pins == ("somebodys==1",)


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
        check_name(FrameworkSpec.parse("langraph"))
    check_name(FrameworkSpec.parse("quitedifferent"))
    check_name(FrameworkSpec.parse("crewai"))


def test_every_adapter_of_the_repository_is_known_by_its_folder() -> None:
    assert set(FRAMEWORKS) == set(FIRST_PARTY)
    for name, project in FRAMEWORKS.items():
        assert project["name"] == adapter_distribution(name)
        assert {framework_name(label) for label in project["entry-points"]["trialbed.frameworks"]} == {name}


def test_every_adapter_of_the_repository_declares_what_trialbed_knows_of_its_framework() -> None:
    for name, project in FRAMEWORKS.items():
        declared = project["entry-points"]["trialbed.distributions"]
        assert tuple(sorted(declared)) == PACKAGES.get(name, (name,))
        modules = {target.partition(":")[0].partition(".")[0] for target in project["entry-points"][GROUP].values()}
        assert set(declared.values()) == modules


@pytest.mark.parametrize(("label", "here"), [("parted==2.0", True), ("parted==7.7", False), ("parted", True)])
def test_an_adapter_says_which_distributions_are_its_framework(
    fake_distribution: FakeDistribution, label: str, here: bool
) -> None:
    points = {GROUP: {"parted": "trialbed_parted:Agent"}, DISTRIBUTIONS: {"parted-slim": "trialbed_parted"}}
    fake_distribution("trialbed-parted", "0.3", entry_points=points, modules={})
    fake_distribution("parted-slim", "2.0", entry_points={}, modules={})
    fake_distribution("parted", "7.7", entry_points={}, modules={})
    spec = FrameworkSpec.parse("parted==2.0")
    assert (spec.packages, spec.pins) == (("parted-slim",), ("parted-slim==2.0",))
    assert runs_here(label) is here


def test_what_a_release_pins_is_what_the_adapter_requires() -> None:
    for name, project in FRAMEWORKS.items():
        required = {Requirement(line).name for line in project["dependencies"]}
        assert set(FrameworkSpec.parse(name).packages) <= required


@for_each(
    ("release", "company"),
    [*((early, ("langgraph-prebuilt<1.0.9",)) for early in ("1.0.0", "1.1.4")), ("1.1.5", ()), ("1.1.10", ())],
)
def test_what_a_release_cannot_be_imported_with_is_kept_out(release: str, company: tuple[str, ...]) -> None:
    assert FrameworkSpec.parse(f"langgraph=={release}").pins == (f"langgraph=={release}", *company)


def came_from(folder: Path, direct: dict[str, Any] | None) -> None:
    (info,) = folder.glob("*.dist-info")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))


@pytest.fixture
def installed_from(fake_distribution: FakeDistribution) -> Callable[[dict[str, Any] | None], None]:
    """Has Trialbed be installed from somewhere."""

    def install(direct: dict[str, Any] | None) -> None:
        came_from(fake_distribution("trialbed", "0.1.7", entry_points={}, modules={}), direct)

    return install


def test_what_came_from_an_index_is_named_by_its_version(installed_from: Callable[..., None]) -> None:
    installed_from(None)
    assert own_requirement() == "trialbed==0.1.7"
    assert adapter_requirement("crewai") == "trialbed-crewai"
    assert adapter_requirement("somebodys") == "trialbed-somebodys"
    assert install_command("crewai", "crewai==1.15") == "pip install trialbed-crewai crewai==1.15"


def test_a_wheel_brings_the_newest_adapter_that_lies_beside_it(
    installed_from: Callable[..., None], tmp_path: Path
) -> None:
    names = ["trialbed-0.1.7", "trialbed_openai_agents-0.1.2", "trialbed_openai_agents-0.1.10", "trialbed_crewai-1"]
    for name in names:
        (tmp_path / f"{name}-py3-none-any.whl").write_text("")
    installed_from(
        {"url": (tmp_path / "trialbed-0.1.7-py3-none-any.whl").as_uri(), "archive_info": {"hashes": {"sha256": "ab"}}}
    )
    found = adapter_requirement("openai-agents")
    assert found == f"trialbed-openai-agents @ {tmp_path.as_uri()}/trialbed_openai_agents-0.1.10-py3-none-any.whl"
    assert adapter_requirement("agno") == "trialbed-agno"


@pytest.mark.parametrize("editable", [True, False])
def test_a_checkout_brings_its_adapters(installed_from: Callable[..., None], tmp_path: Path, editable: bool) -> None:
    checkout = tmp_path / "a checkout"
    (checkout / "adapters" / "crewai").mkdir(parents=True)
    (checkout / "adapters" / "crewai" / "pyproject.toml").write_text("")
    installed_from({"url": checkout.as_uri(), "dir_info": {"editable": True} if editable else {}})
    url = f"{tmp_path.as_uri()}/a%20checkout"
    own, adapter = (f"-e {url}", f"-e {url}/adapters/crewai")
    if not editable:
        own, adapter = (f"trialbed @ {url}", f"trialbed-crewai @ {url}/adapters/crewai")
    assert own_requirement() == own
    assert adapter_requirement("crewai") == adapter
    option = "-e " if editable else ""
    assert install_command("crewai") == f"pip install {option}'{checkout / 'adapters' / 'crewai'}'"
    assert adapter_requirement("somebodys") == "trialbed-somebodys"


def test_a_place_that_is_no_more_is_not_looked_at(installed_from: Callable[..., None], tmp_path: Path) -> None:
    installed_from({"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}})
    assert own_requirement() == "trialbed==0.1.7"
    assert adapter_requirement("crewai") == "trialbed-crewai"


@pytest.mark.parametrize(("inner", "prefix"), [("", ""), ("inner", "inner/")])
def test_a_repository_brings_its_adapters_of_the_same_commit(
    installed_from: Callable[..., None], inner: str, prefix: str
) -> None:
    url = "https://git.example/trialbed.git"
    direct = {"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}}
    installed_from(direct | ({"subdirectory": inner} if inner else {}))
    suffix = f"#subdirectory={inner}" if inner else ""
    assert own_requirement() == f"trialbed @ git+{url}@{COMMIT}{suffix}"
    expected = f"trialbed-crewai @ git+{url}@{COMMIT}#subdirectory={prefix}adapters/crewai"
    assert adapter_requirement("crewai") == expected
    assert adapter_requirement("somebodys") == "trialbed-somebodys"


def test_a_download_keeps_its_hash(installed_from: Callable[..., None]) -> None:
    url = "https://files.example/trialbed-0.1.7-py3-none-any.whl"
    installed_from({"url": url, "archive_info": {"hashes": {"sha256": "abcd"}}})
    assert own_requirement() == f"trialbed @ {url}#sha256=abcd"


def test_an_adapter_that_is_installed_here_is_the_one_that_is_used(
    installed_from: Callable[..., None], fake_distribution: FakeDistribution, tmp_path: Path
) -> None:
    installed_from(None)
    points = {"trialbed.frameworks": {"acme": "acme_module:Agent"}}
    folder = fake_distribution("acmes-own-adapter", "4.2", entry_points=points, modules={})
    assert adapter_requirement("acme") == "acmes-own-adapter==4.2"
    came_from(folder, {"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert adapter_requirement("acme") == f"-e {tmp_path.as_uri()}"


def test_what_a_build_left_in_the_working_directory_does_not_hide_the_installation(
    installed_from: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "trialbed.egg-info").mkdir(parents=True)
    (checkout / "trialbed.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: trialbed\nVersion: 0.1.6\n")
    (checkout / "adapters" / "crewai").mkdir(parents=True)
    (checkout / "adapters" / "crewai" / "pyproject.toml").write_text("")
    installed_from({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    monkeypatch.syspath_prepend(checkout)  # as `python -m` does
    assert own_requirement() == f"-e {checkout.as_uri()}"
    assert adapter_requirement("crewai") == f"-e {checkout.as_uri()}/adapters/crewai"


def test_a_name_that_is_not_there_gets_a_suggestion_and_nothing_to_install() -> None:
    with pytest.raises(DriverNotFound) as raised:
        adapter_info("referense")
    text = str(raised.value)
    assert "did you mean 'reference'?" in text
    assert "`bench env add referense --adapter REQUIREMENT`" in text
    assert "pip install" not in text, (
        "the name is most likely misspelt, and anybody could publish a package of that name"
    )


def test_a_name_like_no_other_is_told_how_to_get_it() -> None:
    with pytest.raises(DriverNotFound) as raised:
        adapter_info("quokka")
    text = str(raised.value)
    assert "'quokka' is not installed. Installed: " in text
    assert "`pip install trialbed-quokka`" in text
    assert "`bench env add quokka`" in text


def test_a_framework_that_is_known_and_not_here_is_suggested_with_both_ways_to_get_it() -> None:
    with pytest.raises(DriverNotFound) as raised:
        adapter_info("crewaii")
    text = str(raised.value)
    assert "did you mean 'crewai'?" in text
    assert "bench env add crewai`" in text
    assert re.search(r"`pip install \S.*crewai`", text)
