"""The wheel holds the tree: all of it, and nothing else."""

from __future__ import annotations

import configparser
import email
import email.message
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support.distributions import ADAPTERS, FRAMEWORKS, ROOT, Wheels

from trialbed.records import framework_name

pytestmark = pytest.mark.packaging

ROOTS = ("core", "server", "tool_selection", "plugins")
SHIPPED = (
    ".cassette",
    ".css",
    ".html",
    ".jinja",
    ".js",
    ".json",
    ".jsonl",
    ".py",
    ".pyi",
    ".svg",
    ".toml",
    ".xz",
    ".yaml",
    "LICENSES.md",
    "py.typed",
)
TEMPLATE = "trialbed_adapter_lab/template"
DESK = "trialbed_tasks/desk"
"""An embedded dataset, whose tools are read by their path, as those of a user's dataset."""


def tree(source: Path) -> dict[str, bytes]:
    """What should be in the wheel: ``path -> content`` of the packages of the four roots, and of the template."""
    return {
        **{
            file.relative_to(source / root).as_posix(): file.read_bytes()
            for root in ROOTS
            for file in (source / root).rglob("*")
            if file.is_file() and file.name.endswith(SHIPPED)
        },
        **template(source),
    }


def template(source: Path) -> dict[str, bytes]:
    """``path -> content`` of the whole template of adapters, where the wheel has it."""
    folder = source / "adapters" / "_template"
    files = (file for file in folder.rglob("*") if file.is_file())
    return {f"{TEMPLATE}/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in files}


def content(wheel: Path) -> dict[str, bytes]:
    """What is in a wheel, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_is_the_tree(wheels: Wheels) -> None:
    expected, found = tree(wheels.source), content(wheels.wheel)
    assert set(found) == set(expected)
    assert found == expected


def test_every_folder_of_code_is_a_package(wheels: Wheels) -> None:
    """A folder without ``__init__.py`` is silently left out of the wheel."""
    names = set(tree(wheels.source)) - set(template(wheels.source))
    folders = {name.rpartition("/")[0] for name in names if name.endswith(".py")} - {DESK}
    assert {folder for folder in folders if f"{folder}/__init__.py" not in names} == set()


def test_the_template_is_there_whole_as_data(wheels: Wheels) -> None:
    """Hidden files too, and no folder of it is one that Python imports from by mistake."""
    found = {name.removeprefix(f"{TEMPLATE}/") for name in content(wheels.wheel) if name.startswith(TEMPLATE)}
    assert {".gitignore", "README.md", "pyproject.toml", "tests/test_conformance.py"} <= found
    assert "__init__.py" not in found


def test_each_root_is_typed(wheels: Wheels) -> None:
    names = set(content(wheels.wheel))
    packages = {name.partition("/")[0] for name in names if "/" in name}
    for package in packages:
        assert f"{package}/py.typed" in names


def test_the_sdist_gives_the_same_wheel(wheels: Wheels) -> None:
    assert content(wheels.wheel_of_sdist) == content(wheels.wheel)
    assert metadata(wheels.wheel_of_sdist).as_string() == metadata(wheels.wheel).as_string()


def test_the_sdist_can_be_read_by_people(wheels: Wheels) -> None:
    with tarfile.open(wheels.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "setup.py", "setup.cfg", "pyproject.toml"} <= names


def test_the_metadata_is_what_an_index_shows(wheels: Wheels) -> None:
    found = metadata(wheels.wheel)
    assert found["Name"] == "trialbed"
    assert found["License-Expression"] == "Apache-2.0" or found["License"] == "Apache-2.0"
    assert found["License-File"] == "LICENSE"
    assert found["Requires-Python"] == ">=3.11"
    assert found["Description-Content-Type"] == "text/markdown"
    assert "bench run" in str(found.get_payload())
    versions = {"3.11", "3.12", "3.13"}
    assert {f"Programming Language :: Python :: {version}" for version in versions} <= set(
        found.get_all("Classifier") or ()
    )


def wheel_of(wheels: Wheels, name: str) -> Path:
    return wheels.wheel if name == "trialbed" else wheels.adapters[name]


@pytest.mark.parametrize("name", ["trialbed", *ADAPTERS])
def test_every_requirement_has_both_bounds(wheels: Wheels, name: str) -> None:
    for text in metadata(wheel_of(wheels, name)).get_all("Requires-Dist") or ():
        requirement = Requirement(text)
        if requirement.marker is not None and "extra" in str(requirement.marker):
            continue
        operators = {specifier.operator for specifier in requirement.specifier}
        assert {">=", "<"} <= operators, text


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_fits_this_trialbed_and_no_other_minor(wheels: Wheels, name: str) -> None:
    version = metadata(wheels.wheel)["Version"]
    requirement = next(
        Requirement(text)
        for text in metadata(wheels.adapters[name]).get_all("Requires-Dist") or ()
        if Requirement(text).name == "trialbed"
    )
    major, minor, *_ = (int(part) for part in version.split("."))
    assert requirement.specifier.contains(version)
    assert not requirement.specifier.contains(f"{major}.{minor + 1}.0")


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_typed_and_alone(wheels: Wheels, name: str) -> None:
    sources = ROOT / "adapters" / name / "src"
    (package,) = (folder.name for folder in sources.iterdir() if (folder / "__init__.py").is_file())
    names = set(content(wheels.adapters[name]))
    assert f"{package}/py.typed" in names
    assert {name.split("/")[0] for name in names} == {package}
    assert {name for name in names if name.endswith(".py")} == {
        file.relative_to(sources).as_posix() for file in sources.rglob("*.py")
    }


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_adapter_is_called_like_its_folder(wheels: Wheels, name: str) -> None:
    with zipfile.ZipFile(wheels.adapters[name]) as archive:
        (entries,) = (archive.read(file).decode() for file in archive.namelist() if file.endswith("entry_points.txt"))
    assert metadata(wheels.adapters[name])["Name"] == f"trialbed-{name}"
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.read_string(entries)
    assert set(parser.sections()) == {"trialbed.distributions", "trialbed.frameworks"}
    points = parser["trialbed.frameworks"]
    assert {framework_name(label) for label in points} == {name}
    targets = [*points.values(), *parser["trialbed.distributions"].values()]
    assert {target.split(":")[0].split(".")[0] for target in targets} == {f"trialbed_{name.replace('-', '_')}"}
