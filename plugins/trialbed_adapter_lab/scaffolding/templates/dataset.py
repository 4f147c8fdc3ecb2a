"""A dataset; each place to change is marked REPLACE."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.errors import UsageError
from trialbed.records import Api, GoldCall, Parameter, Query

# REPLACE: one Api and one query.
TRACK = Api(
    category="Parcels",
    tool_name="Post",
    api_name="track",
    description="Say where a parcel is.",
    required_parameters=(Parameter(name="number", type="STRING"),),
)
QUERIES = (
    Query(
        query_id=1,
        text="Where is the parcel P-100?",
        apis=(TRACK,),
        gold_calls=(GoldCall(api=TRACK.ref, arguments={"number": "P-100"}),),
    ),
)


class NewPluginDataset(Dataset):
    """The queries, and the Apis that they are about."""

    name = test_set = "new-plugin"
    simulator = "template"

    def queries(self) -> Sequence[Query]:
        """All queries, in order."""
        return QUERIES

    def apis(self) -> Sequence[Api]:
        """Every Api, once."""
        return (TRACK,)


class NewPluginDatasetDriver(DatasetDriver):
    """Opens the dataset."""

    description = "REPLACE: one task about parcels"

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """The test sets that are ready to use."""
        return ("new-plugin",)

    def open(self, test_set: str | None, data_dir: Path) -> Dataset:
        """The dataset of a test set."""
        if test_set not in (None, "new-plugin"):
            raise UsageError(f"new-plugin has no test set {test_set!r}; there is only 'new-plugin'")
        return NewPluginDataset()
