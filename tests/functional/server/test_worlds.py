"""Apis that act on a world of their trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.servers import Serve, closed, registration, virtual

from trialbed.drivers import load_driver

SHOP = {"category": "Commerce", "tool_name": "Tarnmere Market Basket"}


def call(api_name: str, **arguments: Any) -> dict[str, Any]:
    return virtual(arguments, **SHOP, api_name=api_name)


async def test_each_trial_has_a_world_of_its_own_whose_answers_are_not_cached(serve: Serve) -> None:
    dataset = load_driver("datasets", "mini")().open("shop", Path())
    apis = [api.model_dump(mode="json") for api in dataset.apis()]
    client = await serve()
    opened = await client.post(
        "/control/trials", json=registration(trial="trial-token-a", apis=apis, simulator="shop", keep=True)
    )
    like = {"trial": "trial-token-b", "setup": opened.json()["setup"]}
    assert (await client.post("/control/trials", json=like)).status_code == 201
    add = call("Add to basket", product="rope", quantity=2)
    counts = [
        (await client.post(f"/t/{trial}/virtual", json=add)).json()["response"]["items"]["rope"]
        for trial in ("trial-token-a", "trial-token-b", "trial-token-a")
    ]
    assert counts == [2, 2, 4]
    refused = await client.post("/t/trial-token-b/virtual", json=call("Add to basket", product="gold", quantity=1))
    assert "no product named 'gold'" in refused.json()["error"]
    invalid = await client.post("/t/trial-token-b/virtual", json=call("Add to basket", product="rope", quantity="two"))
    assert "quantity: 'two' is not of type 'integer'" in invalid.json()["error"]
    first, second = [await closed(client, trial) for trial in ("trial-token-a", "trial-token-b")]
    assert [log["state"]["basket"] for log in (first, second)] == [{"rope": 4}, {"rope": 2}]
    assert [call["provenance"] for call in first["api_calls"]] == ["shop", "shop"]
