"""The folder of a store that is a file."""

from __future__ import annotations

from pathlib import Path

from trialbed.settings import store_file
from trialbed.store._database import store_url


def folder_note(store: str) -> str | None:
    """Return the line that says that opening a store makes a folder, as its name may be a slip.

    None where there is none to make, and for the store that is used where no option names one.

    Raises:
        UsageError: the URL is malformed.
    """
    url = store_url(store)
    if store == store_file() or url.get_backend_name() != "sqlite" or not url.database or "uri" in url.query:
        return None
    folder = Path(url.database).parent
    return None if folder.exists() else f"making the folder {folder} for the store"
