"""The pages of verifications in the store, whose content the component ``verification`` makes."""

from __future__ import annotations

import threading
from collections import OrderedDict

from markupsafe import Markup

from trialbed.drivers import load_driver
from trialbed.store import RunVersion, StoredRun
from trialbed.views import html_parts

KEPT = 8
"""Pages that are kept until their run changes."""


class VerificationPages:
    """Makes the content of pages, and keeps the latest."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, RunVersion], Markup] = OrderedDict()
        self._turn = threading.Lock()

    def content(self, run: StoredRun) -> Markup:
        """What the page of a verification shows below its heading."""
        key = (run.run_id, run.version())
        with self._turn:
            if key not in self._made:
                parts = load_driver("components", "verification").page_parts(run)
                self._made[key] = html_parts(run.run_id, parts)
                while len(self._made) > KEPT:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]
