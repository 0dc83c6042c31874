"""Labels of some rows: -1, NaN, None or a blank string where there is none."""

import numpy as np

from modicum.contract.labels import clean_labels
from modicum.exceptions import DataError


def as_labels(y: np.ndarray, name: str) -> np.ndarray:
    """Labels as int64 with -1, or as strings with "", where there is none."""
    y = clean_labels(_filled(y), name)
    if y.dtype.kind in "US":
        return y
    if y.dtype.kind in "uf" and (np.abs(y) >= 2.0**63).any():
        raise DataError(f"{name}: labels that are numbers must be less than 2**63. Give them as strings.")
    return y.astype(np.int64)


def _filled(y: np.ndarray) -> np.ndarray:
    """Labels with -1, or "" among strings, in place of None and NaN."""
    if y.dtype.kind == "f":
        return np.where(np.isnan(y), -1, y)
    if y.dtype.kind != "O":
        return y
    missing = np.array([label is None or type(label).__name__ == "NAType" or label != label for label in y], bool)
    return np.where(missing, "" if any(isinstance(label, str) for label in y) else -1, y)


def is_labelled(y: np.ndarray) -> np.ndarray:
    """Which rows have a label: one that is not -1 or blank."""
    return np.char.str_len(np.char.strip(y)) > 0 if y.dtype.kind in "US" else y != -1
