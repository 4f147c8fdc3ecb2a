"""Notebooks as a part of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "how-to" / "look-at-a-run.ipynb"


def notebook() -> str:
    """The cells of the notebook, and what they showed."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(text for cell in cells for text in _cell(cell))


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield re.sub("^#", "###", source)  # below the page's own heading
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            yield "The page of the run stands here, as `bench show latest --format html` writes it."
        else:
            yield f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"
