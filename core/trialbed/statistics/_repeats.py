"""Success over repeats: in any of k trials, and in all of k."""

from __future__ import annotations

from math import comb


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Return the chance that at least one of k trials succeeds: pass@k, without bias.

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code", arXiv:2107.03374 (2021), equation 1.

    Args:
        trials: of one case; at least k.
        successes: how many of them succeeded.

    Raises:
        ValueError: there are fewer trials than k, or the numbers cannot be.
    """
    _check(trials, successes, k)
    every = comb(trials, k)
    return (every - comb(trials - successes, k)) / every


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """Return the chance that each of k trials succeeds: pass^k, without bias.

    Source: S. Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains",
    arXiv:2406.12045 (2024), section 5.

    Args:
        trials: of one case; at least k.
        successes: how many of them succeeded.

    Raises:
        ValueError: there are fewer trials than k, or the numbers cannot be.
    """
    _check(trials, successes, k)
    return comb(successes, k) / comb(trials, k)


def _check(trials: int, successes: int, k: int) -> None:
    if not (1 <= k <= trials and 0 <= successes <= trials):
        raise ValueError(f"{successes} successes in {trials} trials say nothing about {k} trials")
