"""Values and ids under slots, beside `Rows`."""

import numpy as np


def put_values(column: np.ndarray, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of `column` with `values` in the given slots; the last ones may be new."""
    new = np.count_nonzero(slots >= len(column))
    grown = np.concatenate([column, values[len(values) - new :]])  # the right dtype, overwritten below
    grown[slots] = values
    return grown


def find_slots(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The slots of wanted ids, -1 where there is none."""
    if not len(ids):
        return np.full(len(wanted), -1)
    order = np.argsort(ids)
    slots = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return np.where(ids[slots] == wanted, slots, -1)
