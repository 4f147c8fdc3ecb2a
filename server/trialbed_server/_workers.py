"""Several processes that serve one socket."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess

from trialbed.errors import ServerUnavailable, UsageError
from trialbed_server._options import ServerOptions
from trialbed_server._trial_routing import WorkerPlace

logger = logging.getLogger(__name__)

BACKLOG = 2048
START_TIMEOUT = 120.0
"""Seconds in which the first worker must serve."""

Serve = Callable[
    [ServerOptions, Sequence[socket.socket], WorkerPlace, Callable[[], object], Callable[[Callable[[], None]], None]],
    None,
]
"""Serves sockets from a place; calls the fourth argument when it does, and the fifth with what ends it."""


class Workers:
    """The worker processes of a server; one that dies is replaced.

    Args:
        serve: a worker's work; a function of a module, as it is imported in the new process.

    Raises:
        UsageError: this system does not have what they need.
    """

    def __init__(self, options: ServerOptions, listener: socket.socket, serve: Serve) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError("--workers needs UNIX sockets, which this system does not have; leave it out")
        self._options = options
        self._listener = listener
        self._serve = serve
        self._context: SpawnContext = multiprocessing.get_context("spawn")
        self._ready = self._context.Semaphore(0)
        self._stop = threading.Event()
        self._own: list[socket.socket] = []

    def run(self, on_ready: Callable[[], None]) -> None:
        """Run until a signal comes.

        Args:
            on_ready: called when the first worker serves.

        Raises:
            ServerUnavailable: no worker can start.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._stop.set())
        with tempfile.TemporaryDirectory(prefix="trialbed-workers-") as folder:
            paths = tuple(f"{folder}/{number}" for number in range(self._options.workers))
            self._own = [_own_socket(path) for path in paths]
            workers = [self._start(WorkerPlace(number, paths)) for number in range(self._options.workers)]
            try:
                self._await_first(workers)
                on_ready()
                while not self._stop.is_set():
                    workers = [self._keep_alive(worker, WorkerPlace(n, paths)) for n, worker in enumerate(workers)]
                    wait([worker.sentinel for worker in workers], timeout=0.5)
            finally:
                self._end(workers)
                for own in self._own:
                    own.close()

    def stop(self) -> None:
        """End soon."""
        self._stop.set()

    def _start(self, place: WorkerPlace) -> SpawnProcess:
        sockets = (self._listener, self._own[place.number])
        worker = self._context.Process(
            target=_work, args=(self._serve, self._options, sockets, place, self._ready), daemon=True
        )
        worker.start()
        return worker

    def _await_first(self, workers: list[SpawnProcess]) -> None:
        for _ in range(int(START_TIMEOUT * 10)):
            if self._ready.acquire(timeout=0.1):
                return
            if self._stop.is_set() or not any(worker.is_alive() for worker in workers):
                break
        if not self._stop.is_set():
            raise ServerUnavailable("no worker of the server could start; its log says why")

    def _keep_alive(self, worker: SpawnProcess, place: WorkerPlace) -> SpawnProcess:
        if worker.is_alive() or self._stop.is_set():
            return worker
        logger.error("worker %s has died with exit code %s; another one takes its place", worker.pid, worker.exitcode)
        return self._start(place)

    def _end(self, workers: list[SpawnProcess]) -> None:
        for worker in workers:
            if worker.is_alive():
                worker.terminate()
        for worker in workers:
            worker.join(self._options.grace + 10)
            if worker.is_alive():
                worker.kill()
                worker.join()


def _own_socket(path: str) -> socket.socket:
    """A socket for one worker alone, at a path that no other user can reach."""
    own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    own.bind(path)
    own.listen(BACKLOG)
    return own


def _work(
    serve: Serve, options: ServerOptions, sockets: Sequence[socket.socket], place: WorkerPlace, ready: object
) -> None:
    """Serve in a worker process, until it is asked to end or its parent is gone."""
    serve(options, sockets, place, ready.release, _at_the_parents_end)  # type: ignore[attr-defined] # a semaphore


def _at_the_parents_end(end: Callable[[], None]) -> None:
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            end()

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()
