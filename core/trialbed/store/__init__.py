"""The store: every run and trial, durable and complete (SQLAlchemy Core; SQLite by default, PostgreSQL by URL)."""

from trialbed.store._store import Store

__all__ = ["Store"]
