"""The tables of the response cache's database."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Float, Index, Integer, MetaData, String, Table, Text

VERSION = 2
"""The version of this schema; a database of another version is not touched."""

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
    Column("settings", Text, nullable=False, server_default=""),
    Index("trialbed_responses_api", "api"),
)

imported_files = Table(
    "trialbed_imported_files",
    metadata,
    # SHA-256 of a file's content and of the Api that it is about.
    Column("digest", String(64), primary_key=True),
    Column("entries", Integer, nullable=False),
)

claims = Table(
    "trialbed_claims",
    metadata,
    # The call, and whose answer to it is being made.
    Column("claim", Text, primary_key=True),
    Column("owner", String(16), nullable=False),
    Column("until", Float, nullable=False),
)
