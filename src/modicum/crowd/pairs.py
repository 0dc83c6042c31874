"""Labels of pairs of items: +1 if a worker put both in one group, -1 if not (gomes2011, section 7.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.contract.validation import check_weights
from modicum.crowd.names import as_names, codes_of
from modicum.exceptions import DataError


@dataclass(frozen=True)
class Pairs:
    """Pairs of items, each with a worker and a label, as places in lists of names.

    `label` is signed by the label, and its size is the weight. Pairs with the same number in `answer` come from one
    grouping: they depend on each other, and are held out together.
    """

    items: np.ndarray  # distinct names
    workers: np.ndarray
    first: np.ndarray  # (n,) int32: places in `items`
    second: np.ndarray
    worker: np.ndarray  # (n,) int32: places in `workers`
    label: np.ndarray  # (n,) float64
    answer: np.ndarray  # (n,) int32

    def __len__(self) -> int:
        return len(self.label)


def as_pairs(owner: str, pairs: Any, labels: Any, weight: Any = None, answer: Any = None) -> Pairs:
    """Rows of (item, item, worker) with labels, checked."""
    rows = pairs if isinstance(pairs, np.ndarray) else np.array([tuple(row) for row in pairs], dtype=object)
    rows = rows.reshape(0, 3) if rows.size == 0 else rows
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise DataError(f"{owner}: pairs must be rows of (item, item, worker); got the shape {rows.shape}.")
    if labels is None:
        raise DataError(f"{owner}: labels are missing; give +1 (same group) or -1 (another one) for each pair.")
    label = _as_signs(owner, labels, len(rows))
    size = np.ones(len(rows)) if weight is None else check_weights(owner, weight, len(rows))
    number = np.arange(len(rows)) if answer is None else np.asarray(answer)
    if number.shape != (len(rows),):
        raise DataError(f"{owner}: {len(rows)} pairs need as many numbers of answers; got the shape {number.shape}.")
    both = as_names(rows[:, :2].ravel(), f"{owner}: an item")
    workers, worker = codes_of(as_names(rows[:, 2], f"{owner}: the worker"))
    items, item = codes_of(both)
    first, second = item[::2], item[1::2]
    if (first == second).any():
        row = int(np.flatnonzero(first == second)[0])
        raise DataError(f"{owner}: row {row} pairs the item {items[first[row]].item()!r} with itself.")
    kept = size > 0
    answers = codes_of(number)[1]
    return Pairs(items, workers, first[kept], second[kept], worker[kept], (label * size)[kept], answers[kept])


def _as_signs(owner: str, labels: Any, count: int) -> np.ndarray:
    signs = np.asarray(labels)
    if signs.shape != (count,):
        raise DataError(f"{owner}: {count} pairs need as many labels; got the shape {signs.shape}.")
    if signs.dtype.kind not in "biuf":
        raise DataError(f"{owner}: labels must be +1 or -1; got {labels[0]!r}.")
    wrong = np.flatnonzero(np.abs(signs.astype(np.float64)) != 1) if signs.dtype.kind != "b" else np.arange(count)
    if len(wrong):
        raise DataError(f"{owner}: the label of row {wrong[0]} must be +1 or -1; got {signs[wrong[0]]!r}.")
    return signs.astype(np.float64)
