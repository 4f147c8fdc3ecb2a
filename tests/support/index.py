"""A package index of one's own: tiny wheels, made in a moment, behind a real HTTP server."""

from __future__ import annotations

import base64
import json
import threading
import zipfile
from collections.abc import Iterable, Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Iterable[str] = (),
    modules: Mapping[str, str] | None = None,
    entry_points: str = "",
) -> Path:
    """A wheel that any installer takes."""
    base = f"{name.replace('-', '_')}-{version}"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    files = {f"{module}.py": text for module, text in (modules or {}).items()}
    files[f"{base}.dist-info/METADATA"] = "\n".join([*metadata, ""])
    files[f"{base}.dist-info/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if entry_points:
        files[f"{base}.dist-info/entry_points.txt"] = entry_points
    record = f"{base}.dist-info/RECORD"
    files[record] = "".join(f"{path},,\n" for path in [*files, record])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in files.items():
            wheel.writestr(inner, text)
    return path


class Index:
    """Serves the wheels of a folder.

    Attributes:
        requests: the paths that were asked for.
        asked: set when a wheel is asked for that is not an adapter's.
        gate: such a wheel is given out only while this is set. An adapter's always is: it may be read before a build.
        login: ``user:password`` that must be given; none by default.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True)
        self.requests: list[str] = []
        self.asked, self.gate = threading.Event(), threading.Event()
        self.gate.set()
        self.login = ""
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/simple"

    def stop(self) -> None:
        """Vanish from the network; may be called again."""
        self.gate.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def publish(self, name: str, version: str, **more: object) -> Path:
        return make_wheel(self.folder, name, version, **more)  # type: ignore[arg-type]

    def page(self, name: str) -> bytes | None:
        """Return the files of a package (PEP 691)."""
        paths = sorted(self.folder.glob(f"{name.replace('-', '_')}-*.whl"))
        files = [
            {
                "filename": path.name,
                "url": f"/files/{path.name}",
                "hashes": {"sha256": sha256(path.read_bytes()).hexdigest()},
                # Metadata are served beside the wheels, so that a resolution asks for no wheel.
                "core-metadata": True,
            }
            for path in paths
        ]
        return json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode() if files else None

    def metadata(self, name: str) -> bytes:
        with zipfile.ZipFile(self.folder / name) as wheel:
            (inner,) = (path for path in wheel.namelist() if path.endswith(".dist-info/METADATA"))
            return wheel.read(inner)

    def wheel(self, name: str) -> bytes:
        if not name.startswith("trialbed_"):
            self.asked.set()
            assert self.gate.wait(60)
        return (self.folder / name).read_bytes()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """uv opens some fifty connections at once: none of them may be turned away."""


def _handler(index: Index) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.requests.append(self.path)
            parts = self.path.strip("/").split("/")
            if not self._is_allowed():
                self._answer(401, b"who are you?")
            elif parts[-1].endswith(".metadata"):
                self._answer(200, index.metadata(parts[1].removesuffix(".metadata")))
            elif parts[0] == "files":
                self._answer(200, index.wheel(parts[1]))
            elif (page := index.page(parts[-1])) is not None:
                self._answer(200, page, "application/vnd.pypi.simple.v1+json")
            else:
                self._answer(404, b"no such package")

        def do_HEAD(self) -> None:
            self._answer(405, b"")

        def _is_allowed(self) -> bool:
            expected = f"Basic {base64.b64encode(index.login.encode()).decode()}"
            return not index.login or self.headers.get("Authorization") == expected

        def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
