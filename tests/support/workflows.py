"""The workflows of the guides, as GitHub would read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"


def workflow(guide: str) -> dict[str, Any]:
    """The one workflow of a guide."""
    (text,) = (part.split("\n```")[0] for part in (GUIDES / guide).read_text(encoding="utf-8").split("```yaml\n")[1:])
    # The word "on" is a boolean in YAML 1.1, which GitHub does not follow there.
    found: dict[str, Any] = yaml.safe_load(text.replace("\non:", '\n"on":'))
    return found


def scripts(guide: str) -> list[str]:
    """The steps of its one job that run something, after that which installs."""
    (job,) = workflow(guide)["jobs"].values()
    install, *others = [step["run"] for step in job["steps"] if "run" in step]
    assert install.startswith("pip install")
    return others
