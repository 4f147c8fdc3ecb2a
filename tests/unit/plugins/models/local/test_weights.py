"""Where the weights of local models come from."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from trialbed.errors import DataError, UsageError
from trialbed_plugins.models.local import _weights
from trialbed_plugins.models.local._weights import Packaged, find_weights, installed_names

PARTS = (b"GGUF first", b" and second")


def install(folder: Path, package: str, release: str, file: str, content: bytes) -> None:
    """A package as pip leaves it, whose code would raise an exception."""
    module = folder / package.replace("-", "_")
    (module / "data").mkdir(parents=True)
    (module / "__init__.py").write_text("raise RuntimeError")
    (module / "data" / file).write_bytes(content)
    about = folder / f"{module.name}-{release}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n")
    (about / "RECORD").write_text(f"{module.name}/__init__.py,,\n{module.name}/data/{file},,\n")


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with the first of two parts of a model ``tiny``."""
    folder = tmp_path / "packages"
    install(folder, "tiny-part-1", "1.0", "part01.bin", PARTS[0])
    packaged = Packaged(("tiny-part-1==1.0", "tiny-part-2==1.0"), hashlib.sha256(b"".join(PARTS)).hexdigest(), "")
    monkeypatch.setattr(_weights, "PACKAGED", {"tiny": packaged})
    monkeypatch.setenv("TRIALBED_WEIGHTS_DIR", str(tmp_path / "weights"))
    monkeypatch.syspath_prepend(folder)
    return folder


def test_parts_in_packages_are_put_together_once_and_never_run(parts: Path) -> None:
    install(parts, "tiny-part-2", "1.0", "part02.bin", PARTS[1])
    assert installed_names() == ["tiny"]
    weights = find_weights("tiny")
    whole = weights.whole()
    assert whole.read_bytes() == b"".join(PARTS)
    (parts / "tiny_part_2" / "data" / "part02.bin").write_bytes(b"changed")
    assert weights.whole() == whole


def test_parts_that_are_not_the_known_ones_are_refused_and_leave_no_file(parts: Path, tmp_path: Path) -> None:
    install(parts, "tiny-part-2", "1.0", "part02.bin", b"something else")
    with pytest.raises(DataError, match="the packages of local:tiny are not the expected ones"):
        find_weights("tiny").whole()
    assert [path.suffix for path in (tmp_path / "weights").iterdir()] in ([], [".lock"])


def test_a_wrong_name_is_refused_with_the_right_one() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'local:qwen2\.5-coder-0\.5b'.*local:FILE\.gguf"):
        find_weights("qwen2.5-coder-0.5")
    with pytest.raises(UsageError, match=r"there is no file 'none\.gguf'"):
        find_weights("none.gguf")
