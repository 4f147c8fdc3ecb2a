"""A conversation of a test with an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

from trialbed.errors import TrialbedError, UsageError
from trialbed.texts import whole_text
from trialbed_testing._single import AskUser, SingleTrial, TrialSuite
from trialbed_testing._trial import ObservedTrial


class OpenConversation(ObservedTrial):
    """A trial with the test as its user. Until the conversation ends, it shows the trial so far, without scores.

    Args:
        suite: runs the trial while the test looks at an answer.
        start: starts the trial with the first message and a function that returns the next ones.
        trials: the trials of the test; this one is added to them.
    """

    def __init__(
        self, suite: TrialSuite, start: Callable[[str, AskUser], Future[SingleTrial]], trials: list[ObservedTrial]
    ) -> None:
        self.whole = None
        self._suite = suite
        self._start = start
        self._trials = trials
        self._running: Future[SingleTrial] | None = None
        self._answers: SimpleQueue[SingleTrial | None] = SimpleQueue()
        self._messages: asyncio.Queue[str | None] = asyncio.Queue()
        self._awaits_message = False

    def say(self, text: str) -> ObservedTrial:
        """Send a message to the agent and return its answer, with the calls and requests until then.

        Raises:
            UsageError: the message is blank, or the conversation has ended.
            TrialbedError: the agent gave no answer; the message says why.
        """
        __tracebackhide__ = True
        if not isinstance(text, str) or not text.strip() or whole_text(text) != text:
            raise UsageError(f"say: {text!r:.60} is not text that UTF-8 can carry")
        if self._running is None:
            with self._suite.turn:
                self._running = self._start(text, self._ask_user)
                self._running.add_done_callback(lambda _: self._answers.put(None))
                found = self._answers.get()
        elif self._awaits_message:
            self._send(text)
            found = self._answers.get()
        else:
            raise UsageError(f"say: the conversation has ended, and {text!r:.60} cannot be sent")
        self.single = found or self._running.result()
        if self not in self._trials:
            self._trials.append(self)
        if found is None:
            why = "" if self.failure is None else f": {self.failure.message}"
            raise TrialbedError(f"the agent gave no answer to {text!r:.60}{why}")
        self._awaits_message = True
        return self.turns[-1]

    def end(self) -> None:
        """End the conversation, which completes the trial.

        Raises:
            TrialbedError: nothing was said, or the trial could not be run.
        """
        if self._running is None:
            raise UsageError("conversation: nothing was said; write trial.say(…) in its block")
        if self._awaits_message:
            self._send(None)
        elif not self._running.done():  # the test was interrupted
            self._running.cancel()
            return
        self.single = self._running.result()

    def _send(self, text: str | None) -> None:
        self._awaits_message = False
        self._suite.portal.call(self._messages.put_nowait, text)

    async def _ask_user(self, trial: SingleTrial) -> str | None:
        self._answers.put(trial)
        return await self._messages.get()
