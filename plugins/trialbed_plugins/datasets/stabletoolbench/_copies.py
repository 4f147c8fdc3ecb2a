"""Normalized copies of imported data.

``CURRENT`` in the driver's folder names the folder of the last import. It contains ``queries/<test set>.json`` in
Trialbed's format, ``catalog`` with the APIs of tool documents, which are read on demand, and ``descriptions.json`` with
the purpose of each tool. An import writes a new folder and then replaces ``CURRENT``. Readers therefore see a complete
import, and a failed one changes nothing.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from pydantic import TypeAdapter

from trialbed.catalogs import StoredApis
from trialbed.errors import DataError
from trialbed.files import replace_file
from trialbed.records import Api, ApiRef, Query, unique_apis
from trialbed_plugins.datasets._queries import read_queries
from trialbed_plugins.datasets._reading import read_value, validate

CATALOG = "catalog"
LOCK_TIMEOUT = 60.0
"""Seconds to wait for another import to end."""

_DESCRIPTIONS = TypeAdapter(dict[str, dict[str, str]])


class DatasetCopies:
    """The imported data below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def test_sets(self) -> list[str]:
        """The names of the imported test sets, sorted."""
        return sorted(path.stem for path in (self._current / "queries").glob("*.json"))

    def queries(self, test_set: str) -> Sequence[Query]:
        return read_queries(self._current / "queries" / f"{test_set}.json").queries()

    def apis(self) -> Sequence[Api]:
        """Return the APIs of all imported tool documents, which are read on demand.

        Raises:
            DataError: they are damaged.
        """
        return _apis(self._current)

    def descriptions(self) -> dict[str, dict[str, str]]:
        """Return the purpose of each tool in imported documents, by category and tool name."""
        path = self._current / "descriptions.json"
        return validate(path, _DESCRIPTIONS, read_value(path)) if path.is_file() else {}

    def add(self, test_sets: Mapping[str, Iterable[Query]], apis: Iterable[Api]) -> None:
        """Add test sets and APIs. They replace existing ones with the same name or identity.

        On failure, nothing is added.
        """
        with self._new() as folder:
            for name, queries in test_sets.items():
                _write(folder / "queries" / f"{name}.json", _query_text(name, queries))
            if added := tuple(apis):
                found = sorted(unique_apis([*added, *_apis(folder)]), key=lambda api: api.category)
                shutil.rmtree(folder / CATALOG, ignore_errors=True)
                (folder / CATALOG).mkdir()
                StoredApis.store(found, folder / CATALOG)
                descriptions: dict[str, dict[str, str]] = {}
                for api in found:
                    descriptions.setdefault(api.category, {}).setdefault(api.tool_name, api.tool_description)
                _write(folder / "descriptions.json", [json.dumps(descriptions, ensure_ascii=True, indent=0)])

    @property
    def _current(self) -> Path:
        pointer = self._root / "CURRENT"
        return self._root / (pointer.read_text("utf-8").strip() if pointer.is_file() else "none")

    @contextmanager
    def _new(self) -> Iterator[Path]:
        """Yield a copy of the current folder, which becomes the current one if the block succeeds."""
        self._root.mkdir(parents=True, exist_ok=True)
        with FileLock(self._root / "import.lock", timeout=LOCK_TIMEOUT):
            old, new = self._current, self._root / f"import-{uuid.uuid4().hex[:12]}"
            try:
                shutil.copytree(old, new) if old.is_dir() else new.mkdir()
                yield new
                replace_file(self._root / "CURRENT", new.name.encode())
            except BaseException:
                if self._current != new:
                    shutil.rmtree(new, ignore_errors=True)
                raise
            self._forget_all_but(old, new)

    def _forget_all_but(self, *kept: Path) -> None:
        """Remove older imports. The last but one stays for programs that are still reading it."""
        for path in self._root.glob("import-*"):
            if path not in kept:
                shutil.rmtree(path, ignore_errors=True)


def _apis(folder: Path) -> Sequence[Api]:
    stored = folder / CATALOG
    try:
        return StoredApis(stored) if stored.is_dir() else ()
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{stored}: cannot be read: {error}; remove {folder}, and import the data again") from error


def described(query: Query, descriptions: Mapping[str, Mapping[str, str]]) -> Query:
    """Return the query with the known descriptions of its APIs' tools."""
    if not any(_about(api.ref, descriptions) for api in query.apis):
        return query
    apis = (api.model_copy(update={"tool_description": _about(api.ref, descriptions)}) for api in query.apis)
    return query.model_copy(update={"apis": tuple(apis)})


def _about(ref: ApiRef, descriptions: Mapping[str, Mapping[str, str]]) -> str:
    return descriptions.get(ref.category, {}).get(ref.tool_name, "")


def _query_text(name: str, queries: Iterable[Query]) -> Iterator[str]:
    yield f'{{"name": {json.dumps(name)}, "queries": [\n'
    for place, query in enumerate(queries):
        yield (",\n" if place else "") + query.model_dump_json()
    yield "\n]}\n"


def _write(path: Path, parts: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(parts)
