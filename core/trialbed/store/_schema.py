"""The tables.

Columns are for queries; ``record`` is read back: the JSON of a frozen record, without the parts that
have rows of their own. Only types that SQLite and PostgreSQL share are used.
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

from trialbed.store._rows import TrialNumbers

SCHEMA_VERSION = 13
"""Incremented with a change of the tables, or of a stored record that does not read older ones.

A new field with a default needs no new version, because records that lack it are read with the default. Stores of
versions 1 to 12 were written before the first release, and are refused.
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
    Column("created", Double, nullable=False),  # seconds since the epoch, independent of time zones
    Column("record", Text, nullable=False),
    Index("runs_by_config", "config_digest", "created"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the body, hexadecimal
    Column("body", LargeBinary, nullable=False),  # zlib
)


NUMBERS = TrialNumbers._fields

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("framework", String, nullable=False),
    Column("query_id", String, nullable=False),  # JSON, which distinguishes 5 from "5"
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("failure", String),  # its kind
    Column("adapter_digest", String, nullable=False),
    Column("first", Integer, nullable=False),  # 1 for the first trial of its worker
    Column("wall_time", Double, nullable=False),  # seconds
    Column("evaluation_time", Double, nullable=False),  # seconds
    Column("ended", Double, nullable=False),  # seconds since the epoch
    Column("absent", String, nullable=False),  # scores that it cannot have, with commas
    *(Column(name, Double) for name in NUMBERS),
    # JSON: findings on integrity, what became of the expected calls, finish reasons, refusals, lost calls, the failure
    Column("facts", Text, nullable=False),
    Column("record", Text, nullable=False),
    UniqueConstraint("run_id", "framework", "query_id", "repeat", "attempt"),
)

scores = Table(
    "scores",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("value", Double),
    Column("label", String),
    Column("bounded", Integer, nullable=False),  # 1 if it lies in [0, 1]
    Column("quality", Integer, nullable=False),  # 1 if it says how good an answer is; a failed trial then has 0
    Column("record", Text, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String, primary_key=True),  # "model" or "api"
    Column("position", Integer, primary_key=True),
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
    Column("tools", ForeignKey("blobs.digest"), nullable=False, index=True),
)

gold_answers = Table(
    "gold_answers",
    metadata,
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("query_id", String, primary_key=True),
    Column("answer", ForeignKey("blobs.digest"), nullable=False, index=True),
)
