"""What a worker gets of the slow tests at a time: a file, or, of files of whole suites, one test."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

ALONE = ("tests/suites/test_adapters.py", "tests/suites/test_pythons.py")
"""Files each test of which is a whole suite: in one worker they would follow one another while others have ended."""


class SuitesAlone(LoadFileScheduling):
    """Gives workers files, and suites one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in ALONE else file
