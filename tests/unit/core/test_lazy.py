from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

LAZY = ("trialbed", "trialbed.fidelity", "trialbed.verification", "trialbed.verification.results", "trialbed_server")

INIT = """
from trialbed import _lazy

__getattr__, __dir__ = _lazy.names(__name__, {"_colours": ("RED", "blue"), "shapes": ("Circle",)})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = "a_lazy_package"
    folder = tmp_path / name
    (folder / "shapes").mkdir(parents=True)
    (folder / "__init__.py").write_text(INIT)
    (folder / "_colours.py").write_text("RED, blue, green = 1, 2, 3")
    (folder / "shapes" / "__init__.py").write_text("class Circle: ...")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in [module for module in sys.modules if module.split(".")[0] == name]:
        del sys.modules[loaded]


def test_a_module_is_loaded_when_a_name_of_it_is_first_used(package: str) -> None:
    module = import_module(package)
    assert f"{package}._colours" not in sys.modules
    assert (module.RED, module.blue) == (1, 2)
    assert f"{package}._colours" in sys.modules
    assert f"{package}.shapes" not in sys.modules


def test_a_name_is_imported_like_any_other(package: str) -> None:
    found: dict[str, type] = {}
    exec(f"from {package} import Circle", found)
    assert found["Circle"].__module__ == f"{package}.shapes"


def test_a_module_of_the_package_is_imported_as_ever(package: str) -> None:
    found: dict[str, object] = {}
    exec(f"from {package} import shapes", found)
    assert found["shapes"] is sys.modules[f"{package}.shapes"]


@pytest.mark.parametrize("name", ["green", "no_such_name", "__path_to_nothing__"])
def test_no_other_name_is_there(name: str, package: str) -> None:
    module = import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute '{name}'"):
        getattr(module, name)


@pytest.mark.parametrize("package", LAZY)
def test_what_a_package_offers_is_what_it_lists(package: str) -> None:
    module = import_module(package)
    assert dir(module) == sorted(module.__all__)
