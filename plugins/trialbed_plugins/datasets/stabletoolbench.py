"""StableToolBench's test sets and tool documents, imported from a copy of its repository.

Imported data are kept as normalized copies. ``CURRENT`` in the driver's folder names the folder of the last import. It
contains ``queries/<test set>.json`` in Trialbed's format, ``catalog`` with the APIs of tool documents, which are read
on demand, and ``descriptions.json`` with the purpose of each tool. An import writes a new folder and then replaces
``CURRENT``. Readers therefore see a complete import, and a failed one changes nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar

from filelock import FileLock
from pydantic import TypeAdapter

from trialbed.catalogs import ApiCatalog, StoredApis
from trialbed.contracts import DatasetDriver
from trialbed.errors import DataError, UsageError
from trialbed.files import replace_file
from trialbed.records import Api, ApiRef, Query, unique_apis
from trialbed_plugins.datasets._queries import ListedDataset, read_document, read_queries, read_value, validate

EXAMPLES = "solvable_queries_example"
"""The repository's folder with excerpts of its test sets, under the same file names."""

_PEEK = 65536


def _query_files(folder: Path) -> Iterator[Path]:
    """Yield the query files in folders named ``test_instruction`` below a folder, or in the folder itself."""
    folder = folder.resolve()
    if folder.name != "test_instruction":
        yield from (path for path in _json_files(folder) if _looks_like_queries(path))
    for found in _folders(folder):
        if found.name == "test_instruction":
            yield from _json_files(found)


def _documents(folder: Path) -> Iterator[Path]:
    """Yield the documents ``toolenv/tools/<Category>/*.json``; the folder may be ``toolenv`` or ``tools``."""
    folder = folder.resolve()
    for found in _folders(folder):
        if found.name == "tools" and (found == folder or found.parent.name == "toolenv"):
            for category in sorted(path for path in found.iterdir() if path.is_dir()):
                yield from _json_files(category)


def _folders(folder: Path) -> Iterator[Path]:
    for root, names, _ in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield Path(root)


def _json_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if path.is_file())


def _looks_like_queries(path: Path) -> bool:
    """Return whether a file begins like a list of queries, even if it is malformed later.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            head = file.read(_PEEK)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return head.lstrip().startswith("[") and ('"api_list"' in head or '"query_id"' in head)


def _files_by_name(files: list[Path]) -> dict[str, Path]:
    """Return files by test set. The repository's excerpts only count if the complete test set is missing.

    Raises:
        DataError: two files contain the same test set.
    """
    whole = {path.stem for path in files if EXAMPLES not in path.parts}
    named: dict[str, Path] = {}
    for path in files:
        if EXAMPLES in path.parts and path.stem in whole:
            continue
        if path.stem in named:
            raise DataError(
                f"{named[path.stem]} and {path} both give the test set {path.stem!r}; import the folder of one of them"
            )
        named[path.stem] = path
    return named


CATALOG = "catalog"
LOCK_TIMEOUT = 60.0
"""Seconds to wait for another import to end."""

_DESCRIPTIONS = TypeAdapter(dict[str, dict[str, str]])


class _DatasetCopies:
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


NAME = "stabletoolbench"

OFFICIAL = ("G1_instruction", "G1_category", "G1_tool", "G2_instruction", "G2_category", "G3_instruction")
"""The repository's test sets, in its order. The first imported one is the default."""

HOW_TO = (
    "`bench data import DIR` imports them, where DIR is a copy of StableToolBench's repository "
    "or a folder of its query files"
)


class StableToolBenchDataset(ListedDataset):
    """An imported test set. Its catalog also contains the APIs of imported tool documents."""

    def __init__(self, test_set: str, copies: _DatasetCopies) -> None:
        descriptions = copies.descriptions()
        queries = (described(query, descriptions) for query in copies.queries(test_set))
        super().__init__(NAME, test_set, queries)
        self._copies = copies

    def apis(self) -> Sequence[Api]:
        """Return the APIs offered in queries, then the APIs of the imported tool documents."""
        return self._catalog

    @cached_property
    def _catalog(self) -> ApiCatalog:
        return ApiCatalog(super().apis(), self._copies.apis())


class StableToolBenchDriver(DatasetDriver):
    """Test sets imported from a copy of StableToolBench's repository (Guo et al. 2024)."""

    description: ClassVar[str] = "StableToolBench's solvable tasks (765 in six test sets); needs `bench data import`"

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """Return the imported test sets, first the repository's in its own order, then others by name."""
        found = _copies(data_dir).test_sets()
        return sorted(found, key=lambda name: (OFFICIAL.index(name) if name in OFFICIAL else len(OFFICIAL), name))

    def open(self, test_set: str | None, data_dir: Path) -> StableToolBenchDataset:
        """Return an imported test set; the first of ``test_sets`` by default.

        Raises:
            UsageError: it is not imported; the message lists the imported ones and explains how to import more.
            DataError: its copy is damaged.
        """
        found = self.test_sets(data_dir)
        if not found:
            raise UsageError(f"no test sets of {NAME!r} are imported in {data_dir}; {HOW_TO}")
        if test_set is None:
            test_set = found[0]
        if test_set not in found:
            raise UsageError(
                f"the dataset {NAME!r} has no test set {test_set!r} here; imported: {', '.join(found)}; {HOW_TO}"
            )
        return StableToolBenchDataset(test_set, _copies(data_dir))

    def recognises(self, folder: Path) -> bool:
        """Return whether there are query files or tool documents below the folder."""
        return folder.is_dir() and any(True for _ in chain(_query_files(folder), _documents(folder)))

    def import_folder(self, folder: Path, data_dir: Path) -> Sequence[str]:
        """Check all query files and tool documents below the folder, and store normalized copies.

        Returns:
            The test sets in the folder; empty if it only contains tool documents.

        Raises:
            UsageError: there is nothing to import, or ``data_dir`` cannot be written.
            DataError: a file is malformed, and nothing was imported; the message names the file and the query or key.
        """
        if not self.recognises(folder):
            raise UsageError(f"{folder}: holds no query files or tool documents of StableToolBench; {HOW_TO}")
        files = _files_by_name(list(_query_files(folder)))
        test_sets = {name: read_queries(path).queries() for name, path in files.items()}
        apis = (api for path in _documents(folder) for api in read_document(path))
        try:
            _copies(data_dir).add(test_sets, apis)
        except OSError as error:
            raise UsageError(f"{data_dir}: the data cannot be kept there: {error}; nothing was imported") from error
        return list(test_sets)


def _copies(data_dir: Path) -> _DatasetCopies:
    return _DatasetCopies(data_dir / NAME)
