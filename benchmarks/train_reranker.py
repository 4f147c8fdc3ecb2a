"""Learn the weights of the selector ``rerank`` from StableToolBench's G1 queries, and from pairs of them.

A pair is two queries of different tools joined into one, so that the ranker learns from tasks that need several tools.
The loss is ListNet's top-one cross entropy (Cao et al. 2007): a softmax over a query's candidates, whose gold Apis
share the mass. Cross-validation leaves out the queries of a fifth of the tools at a time, and their pairs.

    python benchmarks/train_reranker.py FOLDER              cross-validate, with and without single features
    python benchmarks/train_reranker.py FOLDER --write      and write the weights that ``rerank`` comes with

FOLDER is that of a checkout of StableToolBench, with ``solvable_queries``; only its G1 sets are read.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from trialbed.catalogs import ApiCatalog
from trialbed.records import Query
from trialbed_plugins.datasets.stabletoolbench import StableToolBenchDriver
from trialbed_selection.reranking import FEATURES, Candidates, QueryWords, RerankIndex
from trialbed_selection.reranking._ranker import WEIGHTS
from trialbed_selection.retrieval import CatalogIndex, LexicalIndex, Words, best

SETS = ("G1_instruction", "G1_category", "G1_tool")
PAIRS = 900
"""Pairs of each kind: of tools of one category, and of tools of two."""

MOST_GOLD = 5
"""Gold Apis of a pair at most: as many as the smallest k."""

FOLDS = 5
PENALTY = 1e-3
"""The weight of the squared weights in the loss, for features of unit variance."""

SEED = 11
DROPPED = ("category", "tool_size", "name_grams", "sentence_ranks")
"""Features without which the ranker is cross-validated too: the first two could be habits of the dataset."""

KS = (5, 20, 120)


@dataclass
class Example:
    """A query or a pair of queries, with the features of its candidates.

    Attributes:
        gold: the places of its gold Apis in the catalog.
        fold: in which it is held out.
        places: of its candidates.
        bm25: places of the best Apis by the selector ``bm25``.
    """

    test_set: str
    text: str
    gold: frozenset[int]
    fold: int
    tool: tuple[str, str]
    places: np.ndarray[Any, Any]
    features: np.ndarray[Any, Any]
    bm25: list[int]


def main() -> None:
    """Cross-validate, learn and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    arguments = parser.parse_args()
    examples = read_examples(arguments.folder)
    table = {"bm25": measured(examples, [example.bm25 for example in examples])}
    for left_out in (None, *DROPPED):
        columns = [place for place, name in enumerate(FEATURES) if name != left_out]
        table["rerank" if left_out is None else f"without {left_out}"] = measured(
            examples, cross_validated(examples, columns)
        )
        print_rows(table, [list(table)[-1]] if len(table) > 2 else list(table))
    if arguments.write:
        weights = learn(examples, range(len(FEATURES)))
        WEIGHTS.write_text(json.dumps(document(weights, examples, table), indent=2) + "\n", encoding="utf-8")


def read_examples(folder: Path) -> list[Example]:
    """Read the G1 queries and make pairs of them, with the features of their candidates in the catalog of all three."""
    with tempfile.TemporaryDirectory() as data:
        driver = StableToolBenchDriver()
        driver.import_folder(folder, Path(data))
        datasets = {name: driver.open(name, Path(data)) for name in SETS}
        catalog = CatalogIndex(ApiCatalog.of([api for one in datasets.values() for api in one.apis()]))
        queries = [(name, query) for name, one in datasets.items() for query in one.queries()]
        index, lexical, words = RerankIndex.of(catalog.apis), LexicalIndex.of(catalog.apis), Words()
    places = {ref: place for place, ref in enumerate(catalog.refs)}
    fold = folds({tool_of(query) for _, query in queries})
    single = [
        (name, query.text, frozenset(places[ref] for ref in query.gold_apis), fold[tool_of(query)], tool_of(query))
        for name, query in queries
    ]
    examples = []
    for test_set, text, gold, held_out, tool in [*single, *pairs(single)]:
        candidates = Candidates(index, QueryWords.of(text, words))
        found = best(lexical.scores(text), KS[-1])
        examples.append(Example(test_set, text, gold, held_out, tool, candidates.places, candidates.features(), found))
    return examples


def tool_of(query: Query) -> tuple[str, str]:
    """The category and the name of the tool that a G1 query needs."""
    return query.gold_apis[0].category, query.gold_apis[0].tool_name


def folds(tools: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The fold of each tool: queries of one tool are held out together."""
    mixed = sorted(tools)
    random.Random(SEED).shuffle(mixed)
    return {tool: place % FOLDS for place, tool in enumerate(mixed)}


def pairs(single: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Joined queries of different tools of one fold."""
    chance = random.Random(SEED)
    for kind, same in (("pairs of one category", True), ("pairs of two categories", False)):
        made = 0
        while made < PAIRS:
            (_, text, gold, fold, tool), (_, other_text, other_gold, other_fold, other_tool) = chance.sample(single, 2)
            together = gold | other_gold
            if (
                fold == other_fold
                and tool != other_tool
                and (tool[0] == other_tool[0]) == same
                and len(together) <= MOST_GOLD
            ):
                made += 1
                yield kind, f"{text} {other_text}", together, fold, tool


def learn(examples: Sequence[Example], columns: Sequence[int]) -> np.ndarray[Any, Any]:
    """The weights of these features that fit the examples best."""
    found = [example for example in examples if example.gold.intersection(example.places.tolist())]
    features = np.concatenate([example.features[:, columns] for example in found]).astype(np.float64)
    scale = features.std(axis=0) + 1e-9
    features = (features - features.mean(axis=0)) / scale
    sizes = [len(example.places) for example in found]
    query, starts = np.repeat(np.arange(len(found)), sizes), np.cumsum([0, *sizes[:-1]])
    gold = np.concatenate([np.isin(example.places, list(example.gold)) for example in found])
    target = gold / np.add.reduceat(gold, starts)[query]

    def loss(weights: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        scores = features @ weights
        top = np.maximum.reduceat(scores, starts)
        mass = np.exp(scores - top[query])
        total = np.add.reduceat(mass, starts)
        entropy = (np.log(total) + top).sum() - target @ scores
        slope = features.T @ (mass / total[query] - target)
        return entropy / len(found) + PENALTY * weights @ weights, slope / len(found) + 2 * PENALTY * weights

    fitted: np.ndarray[Any, Any] = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B").x
    return fitted / scale


def cross_validated(examples: Sequence[Example], columns: Sequence[int]) -> list[list[int]]:
    """The places of each example's best Apis, by weights that were learned without its fold."""
    rankings: list[list[int]] = [[] for _ in examples]
    for fold in range(FOLDS):
        weights = learn([example for example in examples if example.fold != fold], columns)
        for place, example in enumerate(examples):
            if example.fold == fold:
                order = np.argsort(-(example.features[:, columns] @ weights), kind="stable")
                rankings[place] = example.places[order].tolist()
    return rankings


def measured(examples: Sequence[Example], rankings: Sequence[Sequence[int]]) -> dict[str, list[float]]:
    """Mean recall at each k, by test set and kind of pair."""
    found: dict[str, list[list[float]]] = {}
    for example, ranking in zip(examples, rankings, strict=True):
        recall = [len(example.gold.intersection(ranking[:k])) / len(example.gold) for k in KS]
        found.setdefault(example.test_set, []).append(recall)
    return {name: [round(float(value), 4) for value in np.mean(rows, axis=0)] for name, rows in found.items()}


def print_rows(table: dict[str, dict[str, list[float]]], names: Sequence[str]) -> None:
    """Print rows of Markdown."""
    for name in names:
        cells = (" / ".join(f"{value:.3f}" for value in values) for values in table[name].values())
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def document(weights: np.ndarray[Any, Any], examples: Sequence[Example], table: dict[str, Any]) -> dict[str, Any]:
    """The file of weights, with its provenance."""
    return {
        "weights": {name: float(f"{weight:.4g}") for name, weight in zip(FEATURES, weights, strict=True)},
        "learned_on": {name: sum(item.test_set == name for item in examples) for name in table["bm25"]},
        "data": "StableToolBench, solvable_queries/test_instruction, its three G1 sets only (Apache-2.0)",
        "date": datetime.now(UTC).date().isoformat(),
        "command": "python benchmarks/train_reranker.py FOLDER --write",
        "cross_validated_recall": {"k": list(KS)} | {name: table[name] for name in ("bm25", "rerank")},
    }


if __name__ == "__main__":
    main()
