"""A hook of mkdocs that shows on every page which version of Trialbed it documents."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any


def on_config(config: Any) -> Any:
    """Put the version at the foot of each page, and at its head if there is no switch of versions."""
    number = version("trialbed")
    config["copyright"] = f"Documentation of Trialbed {number}"
    # mike says so when it builds one of several versions.
    if "MIKE_DOCS_VERSION" not in os.environ:
        config["site_name"] = f"{config['site_name']} {number}"
    return config
