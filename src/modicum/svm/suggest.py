"""The best C from one pass, in which every row is classified before it is learned (dawid1984)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from modicum.streams import stream
from modicum.svm.stream_svc import StreamSVC

GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Suggestion:
    """The C with the fewest mistakes, and the accuracy of each on rows before they were learned."""

    C: float
    accuracy: dict[float, float]

    def __str__(self) -> str:
        lines = [f"C = {C:g}: {share:.4f}{'  <- best' if C == self.C else ''}" for C, share in self.accuracy.items()]
        return "\n".join(lines)


def suggest_C(
    source: Any,
    grid: Sequence[float] = GRID,
    *,
    target: Any = None,
    on_chunk: Callable[[StreamSVC], object] | None = None,
    **params: Any,
) -> Suggestion:
    """Find a good C in one pass: all candidates learn every row once, each row is classified before it is learned.

    Parameters
    ----------
    source : Stream, or anything that `modicum.stream` reads
    grid : positive numbers to try
    target : labels, or the name of their column, as in `modicum.stream`
    on_chunk : called with the model after each chunk
    params : other parameters of `StreamSVC`; where preparations are left at "auto", each C is scored with the best one

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> found = suggest_C(X, [0.01, 1.0, 100.0], target=X[:, 0] + X[:, 1] > 0)
    >>> len(found.accuracy), found.accuracy[found.C] > 0.95
    (3, True)
    """
    model = StreamSVC(tuple(grid), **params)
    model._eliminate = False  # all candidates learn the whole stream
    model.learn(stream(source, target=target), on_chunk)
    entrants = model._learned().tournament.entrants
    best = min(entrants, key=lambda entrant: entrant.score)
    fewest = {C: min(entrant.mistakes for entrant in entrants if entrant.C == C) for C in sorted(grid)}
    return Suggestion(best.C, {C: 1.0 - mistakes / model.n_seen_ for C, mistakes in fewest.items()})
