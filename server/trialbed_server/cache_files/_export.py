"""Writes the response cache as a cache folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed_server.cache import AUTHORITATIVE, Entry, ResponseStore
from trialbed_server.cache_files._layout import path_of
from trialbed_server.cache_files._reading import ALIAS, key_of
from trialbed_server.standard_names import StandardName

EVERY = "all"


@dataclass(frozen=True)
class ExportReport:
    """The outcome of an export.

    Attributes:
        files: files written.
        entries: entries written.
        left_out: entries of other provenances, and of inputs for which there is a better one.
        unwritable: Apis whose names cannot be parts of a path.
    """

    files: int
    entries: int
    left_out: int
    unwritable: tuple[StandardName, ...]


def export_cache(location: str, folder: Path, provenances: Sequence[str] = AUTHORITATIVE) -> ExportReport:
    """Write the answers of a response cache as StableToolBench's server keeps them.

    There is one file for each Api, ``{category}/{tool}_for_{category}/{api}.json``, with Python's text of each input
    as its key, as it was imported. Of two answers to one input, the better one is written: a real one, an imported one,
    then any other.

    Args:
        location: the response cache, a file or a database URL.
        folder: created; must be empty if it is there.
        provenances: of the entries that are written, ``llm`` standing for each model's; ``all`` for all.

    Raises:
        UsageError: the folder is not empty, or cannot be written.
        DataError: the response cache cannot be used.
    """
    store = ResponseStore(location)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not an empty folder; name another one")
        return _write(store, folder, provenances)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error}") from error
    finally:
        store.close()


def _write(store: ResponseStore, folder: Path, provenances: Sequence[str]) -> ExportReport:
    files = written = left_out = 0
    unwritable: list[StandardName] = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, group in groupby(store.all(), lambda entry: entry.name):
        chosen, left = _choose(list(group), provenances)
        left_out += left
        if not chosen:
            continue
        path = path_of(name)
        if path is None:
            unwritable.append(name)
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(chosen, indent=4), encoding="ascii")
        files, written = files + 1, written + len(chosen)
    return ExportReport(files, written, left_out, tuple(unwritable))


def _choose(entries: Sequence[Entry], provenances: Sequence[str]) -> tuple[dict[str, Any], int]:
    """The answers of a file by key, and how many entries are not in it."""
    real = [entry for entry in entries if entry.settings != ALIAS]
    fitting = [entry for entry in real if _fits(entry.origin.provenance, provenances)]
    answers: dict[str, Any] = {}
    for entry in sorted(fitting, key=_rank):
        answers.setdefault(_key(entry), json.loads(entry.body))
    return answers, len(real) - len(answers)


def _fits(provenance: str, provenances: Sequence[str]) -> bool:
    return EVERY in provenances or provenance in provenances or provenance.partition(":")[0] in provenances


def _rank(entry: Entry) -> tuple[int, str]:
    provenance = entry.origin.provenance
    known = AUTHORITATIVE.index(provenance) if provenance in AUTHORITATIVE else len(AUTHORITATIVE)
    return known, entry.input


def _key(entry: Entry) -> str:
    """The key as it was imported, or that of the input."""
    try:
        return str(json.loads(entry.settings)["key"])
    except (ValueError, KeyError, TypeError):
        return key_of(json.loads(entry.input))
