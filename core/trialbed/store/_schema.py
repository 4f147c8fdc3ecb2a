"""The tables.

Columns are for queries; ``record`` is read back: the JSON of a frozen record, without the parts that
have rows of their own. ``checksum`` covers the other columns of its row (see ``_checksums``), and a trial has one more
for its scores and one for its calls. Only types that SQLite and PostgreSQL share are used.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 8
"""Incremented with a change of the tables, or of a stored record that does not read older ones.

A new field of a record needs none where it has a default: records that lack it are read with that. Stores of versions
1 to 7 are refused: they were written before the first release whose stores later ones read.
"""

metadata = MetaData()

about = Table(
    "trialbed_store",
    metadata,
    Column("schema_version", Integer, primary_key=True, autoincrement=False),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("config_digest", String, nullable=False),
    Column("status", String, nullable=False),
    Column("created", Double, nullable=False),  # seconds since the epoch, so that time zones do not matter
    Column("record", Text, nullable=False),
    Column("checksum", String(16), nullable=False),
    Index("runs_by_config", "config_digest", "created"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the body, hexadecimal
    Column("size", Integer, nullable=False),  # bytes of the body, uncompressed
    Column("body", LargeBinary, nullable=False),  # zlib
)

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("framework", String, nullable=False),
    Column("query_id", String, nullable=False),  # JSON, so that 5 and "5" stay apart
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("failure", String),  # its kind
    Column("adapter_digest", String, nullable=False),
    Column("wall_time", Double, nullable=False),  # seconds
    Column("record", Text, nullable=False),
    Column("scores_checksum", String(16), nullable=False),
    Column("calls_checksum", String(16), nullable=False),
    Column("checksum", String(16), nullable=False),
    UniqueConstraint("run_id", "framework", "query_id", "repeat", "attempt"),
    Index("trials_by_checksum", "run_id", "checksum", "id"),  # says what the trials of a run are without reading them
)

scores = Table(
    "scores",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("value", Double),
    Column("label", String),
    Column("record", Text, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String, primary_key=True),  # "model" or "api"
    Column("position", Integer, primary_key=True),
    Column("started", Double, nullable=False),  # seconds since the trial was opened
    Column("duration", Double, nullable=False),  # seconds
    Column("status", Integer, nullable=False),
    Column("request", ForeignKey("blobs.digest"), index=True),
    Column("response", ForeignKey("blobs.digest"), index=True),
    Column("record", Text, nullable=False),
)

selections = Table(
    "selections",
    metadata,
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    # JSON; [query id, number of tools] for columns that are offered another number than the run says
    Column("query_id", String, primary_key=True),
    Column("selector", String, nullable=False),
    Column("tools", ForeignKey("blobs.digest"), nullable=False, index=True),
    Column("checksum", String(16), nullable=False),
)

gold_answers = Table(
    "gold_answers",
    metadata,
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("query_id", String, primary_key=True),
    Column("answer", ForeignKey("blobs.digest"), nullable=False, index=True),
    Column("checksum", String(16), nullable=False),
)

reports = Table(
    "reports",
    metadata,
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("part", String, primary_key=True),
    Column("version", String, nullable=False),  # of what made it
    Column("source", String(64), nullable=False),  # SHA-256 of its sources
    Column("digest", String(64), nullable=False),  # SHA-256 of the body
    Column("body", LargeBinary, nullable=False),  # zlib
    Column("checksum", String(16), nullable=False),  # of all columns but the body
)
"""Figures of runs that have ended, which are read in place of their trials."""
