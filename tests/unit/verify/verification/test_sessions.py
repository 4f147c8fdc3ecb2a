from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.verification import KEY, target

from trialbed.contracts import Vendor
from trialbed.errors import DriverBroken
from trialbed_verify.verification import VerifyOptions
from trialbed_verify.verification._sessions import exchange_with, new_session


class Odd(Vendor):
    def __init__(self, made: Any) -> None:
        super().__init__(base_url="http://127.0.0.1:1/v1")
        self.made = made

    def headers(self, api_key: str) -> dict[str, str]:
        if isinstance(self.made, Exception):
            raise self.made
        return super().headers(api_key) | self.made  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (KeyError(f"region of {KEY}"), r"request headers: KeyError: 'region of \[redacted\]'"),
        ({"X-Region": None}, "header X-Region that is not one line of text"),
        ({"X-Region": "eu\r\nX-Other: 1"}, "header X-Region that is not one line of text"),
        ({"X Region": "eu"}, "whose name is not valid"),
        ({5: "eu"}, "whose name is not valid"),
    ],
)
async def test_headers_that_cannot_be_sent_are_named_before_anything_is(
    made: Any, message: str, tmp_path: Path
) -> None:
    options = VerifyOptions()
    one = replace(target("http://127.0.0.1:1/v1", tmp_path), vendor=Odd(made))
    async with new_session(1) as session:
        with pytest.raises(DriverBroken, match=message) as caught:
            exchange_with(one, session, options)
    assert KEY not in str(caught.value)
