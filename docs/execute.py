"""Run the notebooks of the documentation, and write what their cells show, or check that it is still the same.

    python docs/execute.py            runs them and writes their outputs
    python docs/execute.py --check    exits with 1 if one shows something else, and names its cell

Cells are run by this interpreter, which must have what they import; Jupyter is not needed. Pages of HTML, which have
ids of runs and times in them, are only compared by their kind.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
Output = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Write or check every notebook; the exit code."""
    stale = []
    for path in sorted(DOCS.rglob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        stale += [f"{path.relative_to(DOCS)}, cell {place}" for place in changed(notebook)]
        if "--check" not in arguments:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if "--check" in arguments:
        for place in stale:
            sys.stderr.write(f"{place} shows something else; run python docs/execute.py\n")
        return 1 if stale else 0
    return 0


def changed(notebook: dict[str, Any]) -> list[int]:
    """Run the cells in a folder of their own, with their outputs put into the notebook; which of them changed."""
    found, namespace = [], dict[str, Any]()
    # Programs of this environment, such as bench, are found though it is not the shell's.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with _folder():
        for place, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] == "code":
                outputs = _run("".join(cell["source"]), namespace)
                if list(map(_comparable, outputs)) != list(map(_comparable, cell["outputs"])):
                    found.append(place)
                cell["outputs"] = outputs
                cell["execution_count"] = sum(other["cell_type"] == "code" for other in notebook["cells"][:place])
    return found


def _run(source: str, namespace: dict[str, Any]) -> list[Output]:
    """Run a cell; return what it prints, and the value of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), namespace)  # noqa: S102 - the documentation's own cells
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)  # noqa: S307 - as above
    return [*_stream(printed.getvalue()), *_shown(value)]


def _stream(text: str) -> Iterator[Output]:
    if text:
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def _shown(value: Any) -> Iterator[Output]:
    if value is None:
        return
    html = getattr(value, "_repr_html_", None)
    # A table is readable as text, which stays the same from one version of pandas to the next.
    page = html is not None and not type(value).__module__.startswith("pandas")
    data = {"text/html": html()} if page else {"text/plain": repr(value).splitlines(keepends=True)}
    yield {"data": data, "metadata": {}, "output_type": "display_data"}


def _comparable(output: Output) -> Any:
    return list(output["data"]) if "text/html" in output.get("data", {}) else output


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
