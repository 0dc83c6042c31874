"""Costs estimated from weighted points, with error bounds.

Points were drawn cell by cell, so the variance of a sum over them is estimated within cells (cochran1977, chapter 5).
Weight, mean and scatter of a calibrated cell are exact: only what they do not explain is uncertain.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from modicum.coreset.bucket import Bucket
from modicum.numeric.nearest import nearest

MIN_REGRESSION = 4  # points in a cell for a slope: with three, two parameters leave one degree of freedom


class CostEstimate(NamedTuple):
    """With the given confidence, the cost of all rows is within `error_bound` of `value`."""

    value: float
    error_bound: float


def estimate_sum(
    buckets: list[Bucket], values: list[np.ndarray], uncertain: list[np.ndarray], confidence: float, lost: float = 0.0
) -> CostEstimate:
    """The sum over all rows of a function with the given `values` at the points.

    `uncertain` are the values minus terms whose sum is known exactly. `lost` is a term of the sum that the points do
    not represent; its standard error is taken to be as large as itself.
    """
    total = lost + sum(float(bucket.weights @ value) for bucket, value in zip(buckets, values, strict=True))
    deviation = float(np.sqrt(sum(map(_variance, buckets, uncertain)) + lost**2))
    rounding = float(np.finfo(buckets[0].points.dtype).eps) * abs(total)
    return CostEstimate(total, NormalDist().inv_cdf((1 + confidence) / 2) * deviation + rounding)


def uncertain_gaps(bucket: Bucket, centers: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Squared distances of points to their nearest centers, minus those whose sum is exact by calibration.

    If all points of a cell had the same nearest center, its cost would be exact. So the distance to the center nearest
    to the cell's mean is subtracted, and then what the squared distance from that mean explains: its sum is exact too.
    """
    if not bucket.calibrated:
        return gaps
    sizes = np.diff(bucket.starts, append=len(bucket))
    weights = np.add.reduceat(bucket.weights, bucket.starts)
    means = np.add.reduceat(bucket.weights[:, None] * bucket.points, bucket.starts) / weights[:, None]
    steps = bucket.points - np.repeat(centers[nearest(means, centers)[0]], sizes, axis=0)
    scatter = bucket.points - np.repeat(means, sizes, axis=0)
    return _unexplained(
        bucket, gaps - np.einsum("ij,ij->i", steps, steps), np.einsum("ij,ij->i", scatter, scatter), sizes, weights
    )


def _unexplained(
    bucket: Bucket, values: np.ndarray, known: np.ndarray, sizes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Residuals of the regression of values on (1, known) within cells; a single point explains nothing."""

    def means(numbers: np.ndarray) -> np.ndarray:
        return np.repeat(np.add.reduceat(bucket.weights * numbers, bucket.starts) / weights, sizes)

    several = np.repeat(sizes > 1, sizes)
    values = np.where(several, values - means(values), values)
    known = known - means(known)
    both, squares, counts = means(known * values), means(known**2), np.repeat(sizes, sizes)
    enough = (counts >= MIN_REGRESSION) & (squares > 0)
    slopes = np.divide(both, squares, out=np.zeros_like(both), where=enough)
    # one more parameter was fitted than the variance allows for
    return (values - slopes * known) * np.sqrt(np.where(enough, (counts - 1) / np.maximum(counts - 2, 1), 1.0))


def _variance(bucket: Bucket, values: np.ndarray) -> float:
    """Variance of the sum of weighted values; for a cell with a single point, the square of its weighted value."""
    if bucket.variance_factor == 0:
        return 0.0
    sizes = np.diff(bucket.starts, append=len(bucket))
    weighted = bucket.weights * values
    sums = np.add.reduceat(weighted, bucket.starts)
    squares = np.add.reduceat(weighted**2, bucket.starts)
    several = sizes > 1
    within = (squares - sums**2 / sizes)[several] * (sizes / np.maximum(sizes - 1, 1))[several]
    return bucket.variance_factor * float(np.maximum(within, 0).sum() + squares[~several].sum())
