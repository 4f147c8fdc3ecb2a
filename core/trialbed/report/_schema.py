"""The schema of result documents."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from trialbed.settings import Declared, declared_settings

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def document_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) that every result document satisfies."""
    schema: dict[str, Any] = json.loads(files("trialbed.report").joinpath("document.schema.json").read_text())
    metadata = schema["properties"]["metadata"]
    settings = {setting.document: _property(setting) for setting in declared_settings() if setting.document}
    metadata["required"] += settings
    metadata["properties"] |= settings
    return schema


def _property(setting: Declared) -> dict[str, Any]:
    kind = JSON_TYPES[setting.kind]
    text = setting.setting.help.partition(" [default")[0].rstrip(".")
    description = text[0].lower() + text[1:]
    return {"description": description, "type": [kind, "null"] if setting.optional else kind}
