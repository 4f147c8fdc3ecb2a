"""``bench env`` and ``bench run`` with real uv, on an index of our own: nothing here leaves the machine.

Trialbed itself is a stand-in in these environments, a wheel without code or dependencies: the metadata that the
command finds of itself say that it was installed from there. So an environment takes a moment to build, and what is
tested is how it comes about. ``test_runs.py`` uses the real one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from support.index import Index, make_wheel
from support.machines import Machine, as_if_installed_from, publish_acme, publish_acme_agent


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path / "index") as served:
        publish_acme(served, "1.0")
        yield served


@pytest.fixture
def machine(tmp_path: Path, index: Index) -> Iterator[Machine]:
    folder = tmp_path / "user"
    folder.mkdir()
    made = Machine(folder, index)
    rig = make_wheel(tmp_path / "rig", "trialbed", distribution("trialbed").version)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRIALBED_", "UV_", "PIP_")) and "proxy" not in name.lower()
    }
    made.variables = kept | {
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "PYTHONPATH": str(as_if_installed_from(rig, tmp_path / "metadata")),
        "TRIALBED_ENV_DIR": str(made.env_dir),
        "UV_CACHE_DIR": str(folder / "uv-cache"),
        "UV_DEFAULT_INDEX": index.url,
        "UV_HTTP_RETRIES": "0",
    }
    yield made
    made.end()


@pytest.fixture
def real(machine: Machine, index: Index) -> Machine:
    """A machine on which Trialbed is what it is here, and the framework has two releases."""
    for release in ("1.0", "2.0"):
        index.publish("acme", release, modules={"acme": f"VERSION = {release!r}\n"})
    publish_acme_agent(index)
    for name in ("PYTHONPATH", "UV_CACHE_DIR", "UV_DEFAULT_INDEX", "UV_HTTP_RETRIES"):
        del machine.variables[name]
    # What tests are told about indexes and the network holds for the rest of the packages.
    machine.variables |= {name: value for name, value in os.environ.items() if name.startswith("UV_")}
    machine.variables["UV_INDEX"] = index.url
    return machine
