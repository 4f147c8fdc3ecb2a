"""CPU time per query of the selectors that rank a catalog, compared with ``bm25``, in alternating rounds.

    python benchmarks/retrieval.py FOLDER
    python benchmarks/retrieval.py FOLDER --sizes 2490 --selectors bm25,hybrid

FOLDER is a checkout of StableToolBench. The catalogs are its G1 Apis, and copies of them under other tool names up to
each size, which keeps the frequency of words. Queries are from the G1 sets. CPU time is the process's, all threads
together; other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from statistics import fmean, median

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import ToolSelector
from trialbed.drivers import load_driver
from trialbed.records import Api, Query
from trialbed_plugins.datasets.stabletoolbench import StableToolBenchDriver

SETS = ("G1_instruction", "G1_category", "G1_tool")
FLOOR = "bm25"
QUERIES = 100
ROUNDS = 5
MAX_TOOLS = 120


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="2490,16000", help="numbers of Apis; default 2490,16000")
    parser.add_argument("--selectors", default="bm25", help="default bm25")
    arguments = parser.parse_args()
    names = list(dict.fromkeys((FLOOR, *arguments.selectors.split(","))))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRIALBED_INDEX_DIR"] = f"{folder}/indexes"
        apis, queries = read(arguments.folder, Path(folder))
        print(
            "| Apis | selector | ms of CPU per query | ratio | index made, s of CPU |\n| --- | --- | --- | --- | --- |"
        )
        for size in map(int, arguments.sizes.split(",")):
            measure(names, enlarged(apis, size), queries)


def read(folder: Path, data: Path) -> tuple[Sequence[Api], list[Query]]:
    """Return the Apis of the G1 sets, and every few of their queries."""
    driver = StableToolBenchDriver()
    driver.import_folder(folder, data)
    datasets = [driver.open(name, data) for name in SETS]
    queries = [query for one in datasets for query in one.queries()]
    return ApiCatalog.of([api for one in datasets for api in one.apis()]), queries[:: len(queries) // QUERIES]


def enlarged(apis: Sequence[Api], size: int) -> list[Api]:
    """Return the Apis, and copies of them under other tool names, up to this many."""
    made = list(apis)
    for copy in count(1):
        if len(made) >= size:
            return made[:size]
        made += [api.model_copy(update={"tool_name": f"{api.tool_name} {copy}"}) for api in apis]
    raise AssertionError


def measure(names: Sequence[str], apis: Sequence[Api], queries: Sequence[Query]) -> None:
    """Print a row for each selector."""
    selectors: dict[str, ToolSelector] = {}
    made = {}
    for name in names:
        began = time.process_time()
        selectors[name] = load_driver("selectors", name)()
        selectors[name].prepare(apis)
        made[name] = time.process_time() - began
    rounds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            rounds[name].append(milliseconds(selectors[name], queries))
    for name, times in rounds.items():
        ratio = median(own / floor for own, floor in zip(times, rounds[FLOOR], strict=True))
        spread = f"{median(times):.2f} [{min(times):.2f}, {max(times):.2f}]"
        print(f"| {len(apis):,} | `{name}` | {spread} | {ratio:.1f} | {made[name]:.1f} |", flush=True)


def milliseconds(selector: ToolSelector, queries: Sequence[Query]) -> float:
    """CPU time per query."""
    times = []
    for query in queries:
        began = time.process_time()
        selector.select(query, max_tools=MAX_TOOLS)
        times.append(time.process_time() - began)
    return 1000 * fmean(times)


if __name__ == "__main__":
    main()
