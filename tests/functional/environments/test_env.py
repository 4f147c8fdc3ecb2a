"""Building, listing, locking and removing environments."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.index import Index, make_wheel
from support.machines import ACME, Machine, publish_acme

pytestmark = pytest.mark.slow(60)

PROGRAM = "import acme, sys; print(acme.VERSION)"


def version_in(row: dict[str, object]) -> str:
    return subprocess.check_output([str(row["interpreter"]), "-c", PROGRAM], text=True).strip()


def test_an_environment_is_built_once_and_then_used_without_network_and_uv(machine: Machine, index: Index) -> None:
    first = machine.bench("env", "add", "acme")
    assert "acme: building its environment (acme 1.0, 3 packages)" in first.err
    assert "(acme 1.0), built in " in first.err
    index.stop()
    machine.variables["UV_CACHE_DIR"] = "/nowhere"
    again = machine.bench("env", "add", "acme", "--yes", "--json")
    assert "built" not in again.err
    assert "build" not in again.err
    (row,) = json.loads(again.out)
    assert row["framework_version"] == "1.0"
    assert (row["adapter"], row["adapter_version"]) == ("trialbed-acme", "0.3")
    assert version_in(row) == "1.0"


def test_without_a_network_what_uv_has_in_its_cache_is_built(machine: Machine, index: Index) -> None:
    machine.add("acme")
    machine.bench("env", "remove", "acme")
    index.requests.clear()
    machine.variables["UV_OFFLINE"] = "1"
    machine.add("acme")
    assert index.requests == []


def test_a_newer_release_is_taken_when_asked_for_and_the_old_environment_stays(machine: Machine, index: Index) -> None:
    old = machine.add("acme")
    publish_acme(index, "2.0")
    assert machine.add("acme") == old
    new = machine.add("acme", "--refresh")
    assert (old["framework_version"], new["framework_version"]) == ("1.0", "2.0")
    assert machine.add("acme") == new
    assert [(row["framework_version"], row["answers"]) for row in machine.listed()] in (
        [("1.0", []), ("2.0", ["acme"])],
        [("2.0", ["acme"]), ("1.0", [])],
    )


def test_a_lock_is_printed_and_reproduces_the_environment_elsewhere(machine: Machine, index: Index) -> None:
    row = machine.add("acme")
    file = machine.folder / "acme.lock"
    assert "bench env add acme==2" in machine.bench("env", "lock", "acme==2", code=2).err
    assert "trialbed-acme==0.3 \\" in machine.bench("env", "lock", "acme").out.splitlines()
    machine.bench("env", "lock", "acme", "--output", file)
    publish_acme(index, "2.0")
    machine.bench("env", "remove", "--all")
    again = machine.add("acme", "--lock", file)
    assert (again["environment"], again["lock_digest"]) == (row["environment"], row["lock_digest"])
    assert version_in(again) == "1.0"
    assert machine.add("acme") == again, "the lock's environment is the framework's from then on"
    assert "built in" not in machine.bench("env", "add", "acme", "--lock", file).err, "it was there"


def test_another_wheel_of_a_locked_version_is_refused(machine: Machine, index: Index) -> None:
    machine.add("acme")
    file = machine.folder / "acme.lock"
    machine.bench("env", "lock", "acme", "--output", file)
    locked = file.read_text()
    assert locked.count("--hash=sha256:") >= 2
    machine.add("acme", "--lock", file)
    machine.bench("env", "remove", "--all")
    shutil.rmtree(machine.folder / "uv-cache")
    index.publish("acme", "1.0", modules={"acme": "changed = True"})
    done = machine.bench("env", "add", "acme", "--lock", file, code=3)
    assert "its environment cannot be built" in done.err
    assert "ash mismatch" in done.err
    assert machine.listed() == []
    file.write_text(re.sub(r" \\\n    --hash=\S+", "", locked))
    machine.add("acme", "--lock", file)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("acme>=1\n", 2, "is not allowed in a lock"),
        ("--index-url http://user:hunter22@host/\nacme==1.0\n", 2, "UV_DEFAULT_INDEX"),
        ("# nothing\n", 2, "this lock is empty"),
        ("acme==1.0\n", 3, "have no adapter of this name"),
        ("acme==1.0\ntrialbed-acme==0.3\n", 3, "trialbed"),
        ("trialbed==0.0.1\nacme==1.0\ntrialbed-acme==0.3\n", 3, "trialbed"),
    ],
)
def test_a_lock_that_cannot_be_used_is_refused(machine: Machine, text: str, code: int, says: str) -> None:
    file = machine.folder / "some.lock"
    file.write_text(text)
    done = machine.bench("env", "add", "acme", "--lock", file, code=code)
    assert says in done.err
    assert "hunter22" not in done.err
    assert machine.listed() == []


def test_removing_takes_a_framework_a_release_or_a_digest(machine: Machine, index: Index) -> None:
    publish_acme(index, "2.0", "3.0")
    one, two, three = (machine.add(f"acme=={release}") for release in ("1.0", "2.0", "3.0"))
    machine.bench("env", "remove", "acme==2.0")
    assert {row["environment"] for row in machine.listed()} == {one["environment"], three["environment"]}
    machine.bench("env", "remove", three["lock_digest"][:12])
    assert [row["environment"] for row in machine.listed()] == [one["environment"]]
    assert "no environment 'acme==2.0'" in machine.bench("env", "remove", "acme==2.0", code=2).err
    removed = json.loads(machine.bench("env", "remove", "acme", "--json").out)
    assert [row["environment"] for row in removed] == [one["environment"]]
    assert two["environment"] not in [row["environment"] for row in machine.listed()]
    machine.bench("env", "remove", code=2)


def test_an_adapter_from_elsewhere_is_remembered(machine: Machine, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "other", "somebodys-adapter", "9.0", requires=["acme"], entry_points=ACME)
    row = machine.add("acme", "--adapter", wheel)
    assert (row["adapter"], row["adapter_version"]) == ("somebodys-adapter", "9.0")
    assert machine.add("acme") == row
    make_wheel(tmp_path / "other", "somebodys-adapter", "9.0", requires=["acme", "trialbed"], entry_points=ACME)
    other = machine.add("acme")
    assert other["lock_digest"] != row["lock_digest"], "the file is another one now"
    assert "third-party" not in machine.bench("env", "add", "acme").err, "it is the user's own, and not of the index"


def test_changed_declarations_of_a_checkout_build_anew_and_changed_code_does_not(
    machine: Machine, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "trialbed_acme.py").write_text("")
    project = '[project]\nname = "trialbed-acme"\nversion = "{}"\ndependencies = ["acme"]\n'
    points = '[project.entry-points."trialbed.frameworks"]\nacme = "trialbed_acme:Agent"\n'
    backend = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (checkout / "backend.py").write_text(BACKEND)
    (checkout / "pyproject.toml").write_text(backend + project.format("1.0") + points)
    first = machine.add("acme", "--adapter", f"-e {checkout}")
    (checkout / "trialbed_acme.py").write_text("CHANGED = 1")
    assert machine.add("acme") == first
    assert subprocess.check_output([first["interpreter"], "-c", "import trialbed_acme as m; print(m.CHANGED)"])
    (checkout / "pyproject.toml").write_text(backend + project.format("1.1") + points)
    second = machine.add("acme")
    assert (first["adapter_version"], second["adapter_version"]) == ("1.0", "1.1")
    assert first["environment"] != second["environment"]


BACKEND = '''
"""Builds an editable wheel of one module without any build requirement."""
import pathlib, re, tomllib, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
    base = f"trialbed_acme-{project['version']}"
    requires = "".join(f"Requires-Dist: {line}\\n" for line in project["dependencies"])
    files = {
        "acme.pth": f"{pathlib.Path.cwd()}\\n",
        f"{base}.dist-info/METADATA":
            f"Metadata-Version: 2.1\\nName: trialbed-acme\\nVersion: {project['version']}\\n{requires}",
        f"{base}.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{base}.dist-info/entry_points.txt": "[trialbed.frameworks]\\nacme = trialbed_acme:Agent\\n",
    }
    record = f"{base}.dist-info/RECORD"
    files[record] = "".join(f"{path},,\\n" for path in [*files, record])
    name = f"{base}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
'''
