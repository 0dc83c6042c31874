"""Answers of workers: who put which item of which task in which group (gomes2011, section 7.2)."""

from dataclasses import dataclass, field

import numpy as np

from modicum.crowd.names import codes_of
from modicum.crowd.pairs import Pairs
from modicum.exceptions import DataError


@dataclass(frozen=True)
class Answers:
    """A row for each item that a worker put in a group. An answer is all that one worker said to one task.

    Groups have a meaning only within an answer: group 1 of two answers need not be alike.
    """

    worker: np.ndarray  # names: int64 or strings
    task: np.ndarray
    item: np.ndarray
    group: np.ndarray
    notes: tuple[str, ...] = field(default=())  # what was ignored or assumed when they were read

    def __post_init__(self) -> None:
        self._check_items()

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_answers(self) -> int:
        return int(self.numbers().max(initial=-1)) + 1

    def numbers(self) -> np.ndarray:
        """The number of the answer that each row belongs to."""
        workers, worker = codes_of(self.worker)
        task = codes_of(self.task)[1]
        return codes_of(worker + len(workers) * task.astype(np.int64))[1]

    def take(self, rows: np.ndarray) -> "Answers":
        """Some of the rows: indices or a mask."""
        return Answers(self.worker[rows], self.task[rows], self.item[rows], self.group[rows], self.notes)

    def pairs(self) -> Pairs:
        """Labels of all pairs of items that are in one answer; M items give M (M - 1) / 2."""
        items, item = codes_of(self.item)
        workers, worker = codes_of(self.worker)
        group = codes_of(self.group)[1]
        number = self.numbers()
        order = np.lexsort((item, number))
        first, second = pairs_within(np.concatenate([[0], np.cumsum(np.bincount(number))]))
        first, second = order[first], order[second]
        label = np.where(group[first] == group[second], 1.0, -1.0)
        return Pairs(items, workers, item[first], item[second], worker[first], label, number[first])

    def _check_items(self) -> None:
        """Raise a `DataError` if an answer has an item twice."""
        number, item = self.numbers(), codes_of(self.item)[1]
        order = np.lexsort((item, number))
        again = (np.diff(number[order]) == 0) & (np.diff(item[order]) == 0)
        if again.any():
            row = order[1:][again][0]
            raise DataError(
                f"worker {self.worker[row].item()!r} has the item {self.item[row].item()!r} twice in the task "
                f"{self.task[row].item()!r}. "
                "If the task was done twice, give it another name; otherwise keep one of the rows."
            )


def pairs_within(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of both members of all pairs within runs that start, and end, at `starts`."""
    sizes = np.diff(starts)
    parts = []
    for size in np.unique(sizes[sizes > 1]):
        first, second = np.triu_indices(size, 1)
        begin = starts[:-1][sizes == size][:, None]
        parts.append((begin + first, begin + second))
    if not parts:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    firsts, seconds = zip(*((first.ravel(), second.ravel()) for first, second in parts), strict=True)
    both = np.concatenate(firsts), np.concatenate(seconds)
    order = np.lexsort((both[1], both[0]))
    return both[0][order], both[1][order]
