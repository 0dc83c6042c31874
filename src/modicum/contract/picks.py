"""Picks: the rows that a learner has chosen from the stream, in one form for all learners."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.rows.kinds import n_rows


@dataclass(frozen=True)
class Picks:
    """Rows that were chosen from the stream.

    Attributes
    ----------
    kind : str
        What one of them is called: "exemplar", "prototype", "active row", "point".
    rows : array, sparse matrix or list
    ids : ndarray of int
        Row ids: positions in the stream unless `row_ids` was given; -1 for rows that do not come from the stream.
    weights : ndarray or None
        Estimated number of rows (or total weight) of the stream that each represents; None if unknown.
    targets : ndarray or None
        Targets of the rows, if the learner keeps them.
    """

    kind: str
    rows: Any
    ids: np.ndarray
    weights: np.ndarray | None = None
    targets: np.ndarray | None = None

    def __len__(self) -> int:
        return n_rows(self.rows)
