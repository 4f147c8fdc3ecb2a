"""The words of a page."""

from __future__ import annotations

import html
import re


def words(page: str) -> str:
    """The texts of a page, without its elements."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
