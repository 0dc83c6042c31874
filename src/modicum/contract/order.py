"""Whether the first rows of a stream are in an order that chance would not give: sorted, or in long runs of a class."""

import math
import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from modicum.exceptions import OrderWarning

ROWS = 5_000  # looked at: a slow signal rises that long less often than a shorter time
FEWEST_ROWS = 500  # of a stream that ends earlier
FEWEST_STEPS = 8  # of a sorted column: among 500 rows in random order, one column in 1e21 has so few and all one way
EXCEPTIONS = 0.01  # of the steps of a sorted column
ENOUGH_RUNS = 100  # expected by chance, to compare with
FAR_APART = 79  # rows between those that tell how often two rows in random order differ; prime, as blocks are not
MANY_VALUES = 0.8  # share of such pairs that differ in a column: with fewer values, states may last
LONG = 50  # times as long as by chance: of two equal classes, one that stays with probability 0.99


class InOrder(BaseEstimator):
    """Warns, once for each learner, of rows that seem to be sorted."""

    _minds_order: ClassVar[bool] = False  # whether what is learned depends so much on the order that it is watched
    _order: "OrderWatch"  # of the first rows

    def _watch_order(self, names: list[str] | None = None, over_time: Collection[str] = ()) -> None:
        """Begin to watch the order of rows, if none has been learned; columns in `over_time` rise with time.

        With a half-life, the order is that of time, as the user has said: columns and targets may rise. Classes in long
        runs are another matter, as only the latest ones would be left.
        """
        has_classes, in_time = is_classifier(self), getattr(self, "half_life", None) is not None
        if self._minds_order and not self._is_fitted() and (has_classes or not in_time):
            watch = OrderWatch(has_classes=has_classes, in_time=in_time, names=names, over_time=over_time)
            self.__dict__.setdefault("_order", watch)

    def _look_at_order(self, *rows: Any) -> None:
        """Watch X and y or, without them, judge the rows so far; warn if their order is suspicious."""
        if (watch := vars(self).get("_order")) is None:
            return
        found = watch.add(*rows) if rows else watch.judge()
        if watch.is_done:
            del self._order
        if found:
            is_ever = getattr(self, "half_life", ...) is None  # it could forget, and does not
            in_time = "If this is the order of time, set half_life. " if is_ever else ""
            warnings.warn(
                f"{type(self).__name__}: {found}. What is learned in this order may be much worse. Mix the rows with "
                f"modicum.stream(source, shuffle_buffer=100_000) or --shuffle-buffer, or shuffle the file. {in_time}"
                "See docs/drift.md.",
                OrderWarning,
                stacklevel=2,
            )


class OrderWatch:
    """Watches the first rows of a stream, in a few numbers per column, until it can tell whether they are sorted.

    `names` are those of columns, and columns in `over_time` rise with time and are left out, as are all if the rows are
    `in_time`. With `has_classes`, targets are classes.
    """

    def __init__(
        self,
        *,
        has_classes: bool,
        in_time: bool = False,
        names: list[str] | None = None,
        over_time: Collection[str] = (),
    ):
        self.in_time, self.names, self.over_time = in_time, names, over_time
        self.columns = _Steps()
        self.targets: _Steps | _Runs = _Runs() if has_classes else _Steps()
        self.is_done = False

    def add(self, X: Any, y: np.ndarray | None) -> str:
        """Watch the next rows; returns what is suspicious in their order, or ""."""
        if isinstance(X, np.ndarray) and not self.in_time:
            self.columns.add(X[: ROWS - self.columns.n])
        if y is not None and (isinstance(self.targets, _Runs) or y.dtype.kind in "iuf"):
            self.targets.add(y if isinstance(self.targets, _Runs) else y[: ROWS - self.targets.n, None])
        return self.judge(ROWS)

    def judge(self, fewest: int = FEWEST_ROWS) -> str:
        """What is suspicious in the order of at least so many rows, or ""; after a judgement, nothing is watched."""
        if isinstance(self.targets, _Runs) and self.targets.n >= fewest and (found := self.targets.judge()):
            return self._done(found)
        if isinstance(self.targets, _Steps) and self.targets.n >= fewest and len(self.targets.sorted()):
            return self._done("rows seem to be sorted by their target")
        if self.columns.n >= fewest:
            for column in self.columns.sorted():
                name = str(column if self.names is None else self.names[column])
                if name not in self.over_time:
                    return self._done(f"rows seem to be sorted by column {name}")
            for column in self.columns.in_blocks():
                name = str(column if self.names is None else self.names[column])
                if name not in self.over_time:
                    return self._done(f"rows seem to come in blocks of one value of column {name}")
        waits = isinstance(self.targets, _Runs) and self.targets.n and not self.targets.can_tell
        self.is_done = max(self.columns.n, self.targets.n) >= ROWS and not waits
        return ""

    def _done(self, found: str) -> str:
        self.is_done = True
        return found


class _Steps:
    """How often each column rises and falls from a row to the next, by how much, and a few rows from far apart."""

    def __init__(self) -> None:
        self.n = 0
        self.last = self.rises = self.falls = np.zeros(0, np.int64)
        self.way = np.zeros(0)
        self.apart: list[np.ndarray] = []

    def add(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        if self.n:
            self.rises += rows[0] > self.last
            self.falls += rows[0] < self.last
            self.way += np.abs(np.subtract(rows[0], self.last, dtype=np.float64))
        else:
            self.rises, self.falls = np.zeros((2, rows.shape[1]), np.int64)
            self.way = np.zeros(rows.shape[1])
        if len(rows) > 1:  # single rows are to cost little
            self.rises += np.count_nonzero(rows[1:] > rows[:-1], axis=0)
            self.falls += np.count_nonzero(rows[1:] < rows[:-1], axis=0)
            self.way += np.abs(np.diff(rows.astype(np.float64, copy=False), axis=0)).sum(axis=0)
        self.apart.extend(rows[-self.n % FAR_APART :: FAR_APART].astype(np.float64))
        self.n += len(rows)
        self.last = rows[-1].copy()

    def sorted(self) -> np.ndarray:
        """Columns that rise, or fall, in nearly all of their steps; those with the most steps first."""
        steps = self.rises + self.falls
        found = (steps >= FEWEST_STEPS) & (np.minimum(self.rises, self.falls) <= EXCEPTIONS * steps)
        return np.flatnonzero(found)[np.argsort(-steps[found], kind="stable")]

    def in_blocks(self) -> np.ndarray:
        """Columns that hardly ever change from a row to the next, and then as much as between rows far apart.

        Those of one subject after the other do. Slow signals change a little: they are in the order of time.
        """
        apart, steps = np.array(self.apart), self.rises + self.falls
        differences = np.abs(apart - np.random.default_rng(0).permutation(apart))  # at one distance, waves may be equal
        differ = np.count_nonzero(differences, axis=0)
        is_rare = (steps >= FEWEST_STEPS) & (steps * LONG * len(apart) < differ * self.n)
        is_far = 2 * self.way * differ > differences.sum(axis=0) * steps
        return np.flatnonzero(is_rare & is_far & (differ > MANY_VALUES * len(apart)))


class _Runs:
    """Rows of each class, and runs of rows of one class."""

    def __init__(self) -> None:
        self.n = self.n_runs = 0
        self.last: Any = None
        self.counts: Counter[Any] = Counter()

    def add(self, labels: np.ndarray) -> None:
        if not len(labels):
            return
        changes = int(np.count_nonzero(labels[1:] != labels[:-1]))
        self.n_runs += int(self.n == 0 or labels[0] != self.last) + changes
        self.n += len(labels)
        self.last = labels[-1]
        values, counts = np.unique(labels, return_counts=True) if changes else (labels[:1], np.array([len(labels)]))
        self.counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    @property
    def n_expected(self) -> float:
        """Runs of the same rows in random order, on average."""
        return 1 + self.n - math.fsum(count**2 for count in self.counts.values()) / max(self.n, 1)

    @property
    def can_tell(self) -> bool:
        return self.n_expected >= ENOUGH_RUNS

    def judge(self) -> str:
        if not self.can_tell or self.n_runs * LONG > self.n_expected:
            return ""
        return (
            f"rows come in long runs of one class: {self.n_runs:,} in {self.n:,} rows, where a random order has "
            f"{self.n_expected:,.0f}"
        )
