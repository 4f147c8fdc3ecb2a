"""Pages on a free port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from trialbed_pages import create_app


@contextmanager
def served_pages(store: Path, data_dir: Path, files: Sequence[Path] = (), *, writable: bool = False) -> Iterator[str]:
    """Serve the pages of a store and of files in another thread; their address."""
    app = create_app(str(store), data_dir, files, writable=writable)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1))
    began = threading.Event()
    startup = server.startup

    async def announced(**given: Any) -> None:
        await startup(**given)
        began.set()

    server.startup = announced  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    assert began.wait(30)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
