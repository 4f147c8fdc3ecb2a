from __future__ import annotations

import pytest

from trialbed._closing import Closing


class Door(Closing):
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_the_end_of_with_closes_once() -> None:
    with Door() as door:
        assert not door.closed
    assert door.closed == 1


def test_an_error_closes_too_and_goes_on() -> None:
    door = Door()
    with pytest.raises(ValueError, match="draught"), door:
        raise ValueError("draught")
    assert door.closed == 1
