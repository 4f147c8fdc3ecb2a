"""Empty stores, each a copy of one: to create their tables takes longer than what many tests do with them."""

from __future__ import annotations

import contextlib
import os
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trialbed.store import Store


def copy_empty_stores() -> None:
    """From now on, let this process, and those forked from it, begin each store in a new file as a copy."""
    database: Any = import_module("trialbed.store._database")
    make_empty_file = database.make_private_file
    with TemporaryDirectory() as folder:
        with Store.open(f"{folder}/empty.db"):
            pass
        content = Path(folder, "empty.db").read_bytes()

    def make_private_file(path: Path) -> None:
        if not path.exists():
            copy = path.with_name(f"{path.name}.{os.getpid()}")
            with contextlib.suppress(OSError):  # as with an empty file: who opens it reports why it cannot be made
                copy.touch(0o600, exist_ok=False)
                try:
                    copy.write_bytes(content)
                    path.hardlink_to(copy)  # whole or not at all: another process may be creating the same store
                finally:
                    copy.unlink()
        make_empty_file(path)

    database.make_private_file = make_private_file
