"""Picks: the rows that a learner has chosen from the stream, in one form for all learners."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.rows.kinds import n_rows
from modicum.state.packing import is_learner
from modicum.state.part import Part

_IDS = ("ids", "_ids", "row_ids")  # names under which learners and their parts hold ids of rows


@dataclass(frozen=True)
class Picks:
    """Rows that were chosen from the stream; those of a pipeline are the original ones, with all columns.

    Attributes
    ----------
    kind : str
        What one of them is called: "exemplar", "prototype", "active row", "point".
    rows : array, sparse matrix, list or Arrow table
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


def kept_ids(learner: Any) -> np.ndarray:
    """Ids of all rows that a learner keeps: picks, and rows that may become picks; some may come twice."""
    found: list[np.ndarray] = []
    _collect(learner._fields(), found)
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _collect(value: Any, found: list[np.ndarray]) -> None:
    if isinstance(value, Part) or is_learner(value):
        value = vars(value)
    if isinstance(value, dict):
        for name, item in value.items():
            if name in _IDS and isinstance(item, np.ndarray):
                found.append(item)
            elif isinstance(item, Part | dict | list | tuple) or is_learner(item):
                _collect(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, Part | dict | list | tuple) or is_learner(item):
                _collect(item, found)
