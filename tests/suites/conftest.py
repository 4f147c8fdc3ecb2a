"""Whole test suites, run by pytest in another environment."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.bench import own_environment
from support.trust import one_certificate

ROOT = Path(__file__).parents[2]
PLUGINS = ("-p", "pytest_asyncio.plugin", "-p", "trialbed_adapter_lab.pytest_plugin")
Suite = Callable[..., None]


@pytest.fixture
def suite(record_property: Callable[[str, object], None]) -> Iterator[Suite]:
    """Runs the tests of these paths with this interpreter; its last line is shown in the summary."""
    # Not in tmp_path: below it, paths would be too long for sockets.
    folder = tempfile.TemporaryDirectory(prefix="suite")
    certificate = str(one_certificate(Path(folder.name) / "certificate.pem"))

    def run(title: str, python: Path, *arguments: object, **variables: str) -> None:
        environment = own_environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PY_COLORS="0", **variables)
        for name in [name for name in environment if name.startswith("PYTEST_") and name[7:12] in ("XDIST", "CURRE")]:
            del environment[name]
        done = subprocess.run(
            [str(python), "-m", "pytest", *PLUGINS, *map(str, arguments), "-q", "-p", "no:cacheprovider"],
            cwd=ROOT,
            env={**environment, "TMPDIR": folder.name, "PATH": os.environ["PATH"], "SSL_CERT_FILE": certificate},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{title}\n{done.stdout}\n{done.stderr}"
        record_property("suite", f"{title}: {done.stdout.splitlines()[-1].strip('= ')}")

    with folder:
        yield run
