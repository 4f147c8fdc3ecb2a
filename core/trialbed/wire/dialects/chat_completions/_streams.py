"""Reads a streamed answer with a strict state machine.

::

    waiting ──first event──▶ open ──finish_reason──▶ finished ──[DONE]──▶ done
       │                      │                         │
       └────── end of body, error event, malformed event: protocol error ───┘

Only a stream that is done after a finish reason is an answer.
"""

from __future__ import annotations

from collections.abc import Collection

from trialbed.wire._events import Event
from trialbed.wire._exchange import Document
from trialbed.wire._readings import Problem, Reading
from trialbed.wire.dialects._stream_reader import DONE, AnswerStream, Phase
from trialbed.wire.dialects.chat_completions._answers import read_answer, reports_error
from trialbed.wire.dialects.chat_completions._assembly import Assembly


class ChatStreamReader(AnswerStream):
    """Reads one stream from bytes that may be cut anywhere.

    Args:
        names: of the tools on offer; they settle how the pieces of a name are joined.
    """

    LAST = "[DONE]"

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(read_answer)
        self._assembly = Assembly(names, self.note)

    def _take(self, event: Event, now: float) -> None:
        if event.data.strip() == DONE and not self.over:
            self._event = event.data
            self._finish(self._problem_at_end())
        else:
            super()._take(event, now)

    def _read(self, event: Event, found: Document, now: float) -> None:
        if event.name == "error" or reports_error(found):
            self._break_by_error(event)
            return
        self._phase = Phase.OPEN
        token = self._assembly.add(found)
        if token and self.pieces is not None:
            self.pieces += self._assembly.new_texts()
        if token and self.first_token is None:
            self.first_token = now
        if token and self._finished:
            self.note("tokens_after_finish")
        self._finished = self._assembly.finish_reason is not None

    def _problem_at_end(self) -> Problem | None:
        if not self._finished:
            return Problem("no_finish_reason", "the stream ended with [DONE] but without a finish reason")
        if not self._assembly.has_message:
            return Problem("null_message", "the stream has a finish reason but no message")
        return None

    def _document(self) -> Document:
        return self._assembly.completion()


open_stream = ChatStreamReader


def read_stream(body: bytes, names: Collection[str] = ()) -> Reading:
    """Reads a stream that has ended.

    Args:
        names: of the tools on offer.
    """
    reader = ChatStreamReader(names)
    reader.feed(body)
    return reader.end()
