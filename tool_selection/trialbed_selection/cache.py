"""Selections of models, kept across runs."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.files import make_private_folder, replace_file
from trialbed.records import ApiRef
from trialbed_selection.choices import ChosenApi

log = logging.getLogger("trialbed.selection")


@dataclass(frozen=True)
class Asked:
    """The inputs that a selection depends on.

    Attributes:
        query: its text.
        catalog: the digest of the Apis to choose from.
        selector: the driver.
        model: whom it asked.
        prompt: the version of the selector's prompt.
        max_tools: how many tools it was to choose.
    """

    query: str
    catalog: str
    selector: str
    model: str
    prompt: int
    max_tools: int

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        text = json.dumps([self.query, self.catalog, self.selector, self.model, self.prompt, self.max_tools])
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()


class SelectionCache:
    """A folder with one file for each selection, which is replaced as a whole.

    Files of MASBench's tool selector are read too, under both of its keys, where this cache has none of its own.

    Args:
        folder: made when something is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, asked: Asked, known: Mapping[str, ApiRef]) -> list[ChosenApi] | None:
        """The choices for a query, if they are kept; a damaged file holds none.

        Args:
            known: each tool's name, in lower case -> the tool that it stands for.
        """
        kept = self._read(asked.digest)
        if kept is not None:
            try:
                return [ChosenApi.model_validate(choice) for choice in kept["choices"]] or None
            except (KeyError, TypeError, ValueError) as error:
                log.warning("%s: %s is damaged and not used: %s", self._folder, asked.digest, error)
        return self._original(asked, known)

    def keep(self, asked: Asked, choices: Sequence[ChosenApi], names: Mapping[ApiRef, str]) -> None:
        """Keep choices. The keys of the original's files are there too.

        Args:
            names: the names of the tools.
        """
        document = {
            "query": asked.query,
            "selected_tools": [names[choice.api] for choice in choices],
            "model": asked.model,
            "max_tools": asked.max_tools,
            "selector": asked.selector,
            "catalog": asked.catalog,
            "prompt": asked.prompt,
            "choices": [choice.model_dump() for choice in choices],
        }
        try:
            make_private_folder(self._folder)
            replace_file(self._folder / f"{asked.digest}.json", json.dumps(document, indent=2).encode())
        except OSError as error:
            log.warning("%s: the selection cannot be kept: %s", self._folder, error)

    def _original(self, asked: Asked, known: Mapping[str, ApiRef]) -> list[ChosenApi] | None:
        for key in (f"{asked.query}|max_tools={asked.max_tools}|model={asked.model}", asked.query):
            kept = self._read(hashlib.sha256(key.encode(errors="replace")).hexdigest())
            same = kept is not None and (kept.get("query"), kept.get("max_tools"), kept.get("model")) == (
                asked.query,
                asked.max_tools,
                asked.model,
            )
            if kept is None or not same or not isinstance(kept.get("selected_tools"), list):
                continue
            names = [name.strip().lower() for name in kept["selected_tools"] if isinstance(name, str)]
            refs = list(dict.fromkeys(known[name] for name in names if name in known))[: asked.max_tools]
            if refs:
                return [ChosenApi(api=ref, by="model") for ref in refs]
        return None

    def _read(self, digest: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self._folder / f"{digest}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("%s: %s.json cannot be read: %s", self._folder, digest, error)
            return None
        return found if isinstance(found, dict) else None
