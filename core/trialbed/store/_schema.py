"""The tables.

Columns are for queries; ``record`` is read back: the JSON of a frozen record, without the parts that
have rows of their own. Only types that SQLite and PostgreSQL share are used.
"""

from __future__ import annotations

from typing import NamedTuple

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

SCHEMA_VERSION = 12
"""Incremented with a change of the tables, or of a stored record that does not read older ones.

A new field with a default needs none: records that lack it are read with the default. Stores of versions 1 to 11 were
written before the first release, and are refused.
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
    Index("runs_by_config", "config_digest", "created"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the body, hexadecimal
    Column("body", LargeBinary, nullable=False),  # zlib
)


class TrialNumbers(NamedTuple):
    """Numbers of a trial that are counted when it is stored, each in a column; None if a number is not known."""

    requests: int  # requests to the model
    request_errors: int  # those that failed
    unreported: int  # answers of the model without a report of their tokens
    prompt_tokens: int
    completion_tokens: int
    recorded_requests: int  # requests that got a recorded answer
    recorded_tokens: int  # as these answers report them
    invalid_calls: int  # calls that the model sent and that cannot be made
    truncated: int  # answers of the model that were cut at a limit of tokens
    text_calls: int  # calls that the model wrote as text
    refused: int  # requests past a limit of the trial
    lost_calls: int  # calls that the framework's offer made impossible
    filled: int  # optional arguments that had to be made up
    api_calls: int
    api_errors: int
    cached_calls: int
    waited: float  # seconds for which requests waited for the endpoint, or were repeated
    translated: int  # requests that the endpoint was asked in another dialect
    cost: float | None  # US dollars
    invented_claims: int  # calls that the agent claims and never made
    unreported_claims: int  # calls that it made and does not claim
    unasked_claims: int  # calls that no answer of the model asked for
    claimed_tokens: float | None = None
    observed_tokens: float | None = None
    claimed_turns: float | None = None
    observed_turns: float | None = None


NUMBERS = TrialNumbers._fields

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
    Column("first", Integer, nullable=False),  # 1 for the first trial of its worker
    Column("wall_time", Double, nullable=False),  # seconds
    Column("evaluation_time", Double, nullable=False),  # seconds
    Column("ended", Double, nullable=False),  # seconds since the epoch
    Column("tools", String, nullable=False),  # digest of the names of the tools on offer; empty for none
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
    Column("quality", Integer, nullable=False),  # 1 if it says how good an answer is, so that a failed trial has 0
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
