"""Values under slots, beside `Rows`."""

import numpy as np


def put_values(column: np.ndarray, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of `column` with `values` in the given slots; the last ones may be new."""
    new = np.count_nonzero(slots >= len(column))
    grown = np.concatenate([column, values[len(values) - new :]])  # the right dtype, overwritten below
    grown[slots] = values
    return grown
