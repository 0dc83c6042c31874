"""Columns of numbers, standardized so that a few outliers do not set the scale."""

from typing import Any

import numpy as np

from modicum.pipeline.columns.cells import as_floats, has_text
from modicum.pipeline.columns.column import ENOUGH, Column, Settings
from modicum.rules.invariants import Real
from modicum.rules.params import TRUTH

TAIL = 0.02  # of each side, which may be outliers
LINEAR = 6.0  # standard deviations up to which numbers are linear; beyond, they grow like a logarithm
OUTSIDE = 0.25  # share of later values beyond the first ones, above which the scale has changed


class Number(Column):
    """(value - center) / scale.

    Center and scale are the mean and the standard deviation of the first values, with those beyond three times the
    range of their middle 96% brought to its border. So a few outliers do not set the scale, and it is that of a
    StandardScaler for columns that have none. Beyond 6 standard deviations a value grows only like a logarithm.
    """

    kind, plural = "number", "numbers"
    _invariants = {
        "center": Real(),
        "scale": Real(above=0.0),
        "fill": Real(),
        "low": Real(),
        "high": Real(),
        "standardize": TRUTH,
        "was_text": TRUTH,
    }

    def __init__(self, name: str, values: np.ndarray, standardize: bool, was_text: bool):
        known = values[~np.isnan(values)]
        super().__init__(name, has_flag=len(known) < len(values))
        self.standardize = standardize
        self.was_text = was_text  # then cells that are no numbers count as missing
        self.low, self.high = (float(x) for x in (np.quantile(known, [TAIL, 1 - TAIL]) if len(known) else (0.0, 0.0)))
        self.center, self.scale = robust_moments(known, self.low, self.high) if standardize else (0.0, 1.0)
        self.fill = self.center if standardize or not self.has_flag else float(np.median(known))

    @classmethod
    def decide(cls, name: str, cells: Any, settings: Settings) -> "Number":
        values = as_floats(cells, may_be_wrong=True)
        if has_text(cells) and np.isnan(values).all():
            as_floats(cells)  # raises an error that names a cell
        return cls(name, values, settings.standardize, has_text(cells))

    @property
    def own_names(self) -> list[str]:
        return [self.name]

    def parse(self, cells: Any) -> np.ndarray:
        return as_floats(cells, may_be_wrong=self.was_text)

    def missing(self, values: np.ndarray) -> np.ndarray:
        return np.isnan(values)

    def encode(self, values: np.ndarray, out: np.ndarray) -> None:
        column = out[:, 0]
        if not self.standardize:
            column[:] = np.where(np.isnan(values), self.fill, values)
            return
        z = values - self.center
        z /= self.scale
        z[np.isnan(z)] = 0.0
        column[:] = softened(z)

    def decode(self, numbers: np.ndarray) -> np.ndarray:
        return hardened(numbers[:, 0]) * self.scale + self.center if self.standardize else numbers[:, 0]

    def unlike(self, values: np.ndarray) -> int:
        return int(np.count_nonzero(values < self.low) + np.count_nonzero(values > self.high))

    @property
    def change(self) -> str | None:
        if self.n_watched >= ENOUGH and self.n_unlike > OUTSIDE * self.n_watched:
            return (
                f"{self.n_unlike / self.n_watched:.0%} of later values are beyond {self.low:g} to {self.high:g}, the "
                "range of 96% of the first"
            )
        return super().change

    def fixed(self) -> dict[str, Any]:
        return {name: value for name, value in super().fixed().items() if name not in ("low", "high")}

    def describe(self) -> str:
        done = f"centered at {plain(self.center)}, divided by {plain(self.scale)}" if self.standardize else "as it is"
        return f"{done}{f'; missing values become {plain(self.fill)}, with a flag' if self.has_flag else ''}"


def plain(value: float) -> str:
    """A number to four digits, without an exponent if it is of usual size.

    >>> plain(16130.4), plain(0.01234567), plain(3e-9)
    ('16,130', '0.01235', '3e-09')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def robust_moments(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation of values, which are brought to within three times the range from `low` to `high`."""
    if not len(values):
        return 0.0, 1.0
    if high > low:
        values = np.clip(values, low - (high - low), high + (high - low))
    largest = np.abs(values).max() or 1.0
    mean, deviation = (values / largest).mean() * largest, (values / largest).std() * largest
    return float(mean), float(deviation) if deviation > 1e-9 * abs(mean) and np.isfinite(deviation) else 1.0


def softened(z: np.ndarray, linear: float = LINEAR) -> np.ndarray:
    """Standardized values; beyond `linear` they grow like a logarithm, with the same slope where that begins."""
    far = np.abs(z) > linear
    if far.any():
        z[far] = np.sign(z[far]) * (linear + np.log1p(np.abs(z[far]) - linear))
    return z


def hardened(z: np.ndarray, linear: float = LINEAR) -> np.ndarray:
    """The inverse of `softened`."""
    far = np.abs(z) > linear
    return np.where(far, np.sign(z) * (linear + np.expm1(np.minimum(np.abs(z) - linear, 700.0) * far)), z)
