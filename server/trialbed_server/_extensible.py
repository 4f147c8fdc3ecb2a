"""The application where plugins add routes: they get FastAPI's, whose import takes a fifth of the server's start."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from trialbed_server._application import Application
from trialbed_server._openapi import INFO, Document


class ExtensibleApplication(Application, FastAPI):
    """Serves the routes of plugins, too."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(title=INFO["title"], version=INFO["version"], docs_url=None, redoc_url=None, **settings)

    def _undescribed(self) -> Document:
        return get_openapi(title=INFO["title"], version=INFO["version"], summary=INFO["summary"], routes=self.routes)
