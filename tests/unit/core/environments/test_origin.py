"""Where distributions came from, and what installs the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from trialbed.environments import _origin
from trialbed.environments._origin import adapter_requirement, install_command, own_requirement, requirement_of

FakeDistribution = Callable[..., Path]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def came_from(folder: Path, direct: dict[str, Any] | None) -> None:
    (info,) = folder.glob("*.dist-info")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))


@pytest.fixture
def rig(fake_distribution: FakeDistribution) -> Callable[[dict[str, Any] | None], None]:
    """Has Trialbed be installed from somewhere."""

    def install(direct: dict[str, Any] | None) -> None:
        came_from(fake_distribution("trialbed", "0.1.7", entry_points={}, modules={}), direct)

    return install


def test_what_came_from_an_index_is_named_by_its_version(rig: Callable[..., None]) -> None:
    rig(None)
    assert own_requirement() == "trialbed==0.1.7"
    assert adapter_requirement("crewai") == "trialbed-crewai"
    assert adapter_requirement("somebodys") == "trialbed-somebodys"
    assert install_command("crewai", "crewai==1.15") == "pip install trialbed-crewai crewai==1.15"


@pytest.mark.parametrize("editable", [True, False])
def test_a_checkout_brings_its_adapters(rig: Callable[..., None], tmp_path: Path, editable: bool) -> None:
    checkout = tmp_path / "a checkout"
    (checkout / "adapters" / "crewai").mkdir(parents=True)
    (checkout / "adapters" / "crewai" / "pyproject.toml").write_text("")
    rig({"url": checkout.as_uri(), "dir_info": {"editable": True} if editable else {}})
    url = f"{tmp_path.as_uri()}/a%20checkout"
    own, adapter = (f"-e {url}", f"-e {url}/adapters/crewai")
    if not editable:
        own, adapter = (f"trialbed @ {url}", f"trialbed-crewai @ {url}/adapters/crewai")
    assert own_requirement() == own
    assert adapter_requirement("crewai") == adapter
    option = "-e " if editable else ""
    assert install_command("crewai") == f"pip install {option}'{checkout / 'adapters' / 'crewai'}'"
    assert adapter_requirement("somebodys") == "trialbed-somebodys"


def test_a_wheel_brings_the_newest_adapter_that_lies_beside_it(rig: Callable[..., None], tmp_path: Path) -> None:
    names = ["trialbed-0.1.7", "trialbed_openai_agents-0.1.2", "trialbed_openai_agents-0.1.10", "trialbed_crewai-1"]
    for name in [*names, "no wheel"]:
        (tmp_path / f"{name}-py3-none-any.whl").write_text("")
    rig({"url": (tmp_path / "trialbed-0.1.7-py3-none-any.whl").as_uri(), "archive_info": {"hashes": {"sha256": "ab"}}})
    assert own_requirement() == f"trialbed @ {tmp_path.as_uri()}/trialbed-0.1.7-py3-none-any.whl"
    found = adapter_requirement("openai-agents")
    assert found == f"trialbed-openai-agents @ {tmp_path.as_uri()}/trialbed_openai_agents-0.1.10-py3-none-any.whl"
    assert adapter_requirement("agno") == "trialbed-agno"


def test_a_place_that_is_no_more_is_not_looked_at(rig: Callable[..., None], tmp_path: Path) -> None:
    rig({"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}})
    assert own_requirement() == "trialbed==0.1.7"
    assert adapter_requirement("crewai") == "trialbed-crewai"


@pytest.mark.parametrize(("inner", "prefix"), [("", ""), ("rig", "rig/")])
def test_a_repository_brings_its_adapters_of_the_same_commit(rig: Callable[..., None], inner: str, prefix: str) -> None:
    url = "https://git.example/trialbed.git"
    direct = {"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}}
    rig(direct | ({"subdirectory": inner} if inner else {}))
    suffix = f"#subdirectory={inner}" if inner else ""
    assert own_requirement() == f"trialbed @ git+{url}@{COMMIT}{suffix}"
    expected = f"trialbed-crewai @ git+{url}@{COMMIT}#subdirectory={prefix}adapters/crewai"
    assert adapter_requirement("crewai") == expected
    assert adapter_requirement("somebodys") == "trialbed-somebodys"


def test_a_download_keeps_its_hash(rig: Callable[..., None]) -> None:
    url = "https://files.example/trialbed-0.1.7-py3-none-any.whl"
    rig({"url": url, "archive_info": {"hashes": {"sha256": "abcd"}}})
    assert own_requirement() == f"trialbed @ {url}#sha256=abcd"


def test_an_adapter_that_is_installed_here_is_the_one_that_is_used(
    rig: Callable[..., None], fake_distribution: FakeDistribution, tmp_path: Path
) -> None:
    rig(None)
    points = {"trialbed.frameworks": {"acme": "acme_module:Agent"}}
    folder = fake_distribution("acmes-own-adapter", "4.2", entry_points=points, modules={})
    assert adapter_requirement("acme") == "acmes-own-adapter==4.2"
    came_from(folder, {"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert adapter_requirement("acme") == f"-e {tmp_path.as_uri()}"


def test_what_runs_here_says_where_it_came_from() -> None:
    assert requirement_of(distribution("trialbed")).partition(" ")[0] in ("-e", "trialbed") or "==" in own_requirement()
    assert _origin.local_path("https://host/x") is None
