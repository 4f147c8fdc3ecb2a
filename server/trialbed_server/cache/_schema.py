"""The tables of the response cache, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Index, Integer, MetaData, String, Table, Text

VERSION = 1
"""Of this schema; a database of another version is not touched."""

metadata = MetaData()

schema_version = Table("trialbed_cache_schema", metadata, Column("version", Integer, primary_key=True))

responses = Table(
    "trialbed_responses",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("provenance", String(200), primary_key=True),
    Column("revision", String(64), primary_key=True),
    # The triple as JSON: names come from requests, and ASCII-escaped they fit every database.
    Column("api", Text, nullable=False),
    Column("input", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Index("trialbed_responses_api", "api"),
)
