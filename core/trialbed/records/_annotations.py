"""The words of a person on a trial."""

from __future__ import annotations

from typing import Literal

from trialbed.records._base import Record

Rating = Literal["right", "wrong", "unclear"]


class Annotation(Record):
    """A person's words on a trial, which stay with its run and change no score.

    Attributes:
        framework, query_id, repeat: identify the trial within its run.
        rating: the person's verdict on the answer, if any.
        correction: a right answer, in place of the trial's.
    """

    framework: str
    query_id: int | str
    repeat: int = 0
    rating: Rating | None = None
    note: str = ""
    correction: str = ""

    @property
    def key(self) -> tuple[str, int | str, int]:
        """The trial."""
        return self.framework, self.query_id, self.repeat

    @property
    def words(self) -> dict[str, str | None]:
        """The rating, the note and the correction."""
        return {"rating": self.rating, "note": self.note, "correction": self.correction}

    @property
    def is_empty(self) -> bool:
        """Return whether it says nothing."""
        return self.rating is None and not self.note and not self.correction
