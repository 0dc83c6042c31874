"""All labels that a crowd learner has been given, with the names of items and workers."""

from typing import Self

import numpy as np

from modicum.crowd.names import united
from modicum.crowd.pairs import Pairs
from modicum.rules.invariants import Array, Whole
from modicum.state import Part


class PairLabels(Part):
    """Labels of pairs, kept as they came: the model is fitted to all of them."""

    _invariants = {
        "items": Array(("i", "U"), "n_items"),
        "workers": Array(("i", "U"), "n_workers"),
        "first": Array("int32", "n", low=0, below="n_items"),
        "second": Array("int32", "n", low=0, below="n_items"),
        "worker": Array("int32", "n", low=0, below="n_workers"),
        "label": Array("float64", "n"),
        "answer": Array("int32", "n", low=0, below="n_answers"),
        "n_answers": Whole(1),
    }

    def __init__(self, pairs: Pairs):
        self.items, self.workers = pairs.items, pairs.workers
        self.first, self.second, self.worker = pairs.first, pairs.second, pairs.worker
        self.label, self.answer = pairs.label, pairs.answer
        self.n_answers = int(pairs.answer.max()) + 1

    def __len__(self) -> int:
        return len(self.label)

    def with_more(self, pairs: "Pairs | PairLabels") -> Self:
        """These labels and others; known items and workers keep their places."""
        items, item = united(self.items, pairs.items, "items")
        workers, worker = united(self.workers, pairs.workers, "workers")
        return type(self)(
            Pairs(
                items,
                workers,
                np.concatenate([self.first, item[pairs.first]]),
                np.concatenate([self.second, item[pairs.second]]),
                np.concatenate([self.worker, worker[pairs.worker]]),
                np.concatenate([self.label, pairs.label]),
                np.concatenate([self.answer, self.n_answers + pairs.answer]),
            )
        )
