"""Seeded generators of rows for examples, tests and benchmarks."""

from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.crowd.answers import Answers


def mixture(
    n_rows: int, n_columns: int, n_clusters: int, *, chunk_size: int = 50_000, random_state: int = 0
) -> Iterator[np.ndarray]:
    """Chunks of float32 rows from Gaussian clusters of different size and spread, generated lazily.

    >>> [chunk.shape for chunk in mixture(120, 2, 3, chunk_size=50)]
    [(50, 2), (50, 2), (20, 2)]
    """
    rng = np.random.default_rng(random_state)
    centers = 4 * rng.standard_normal((n_clusters, n_columns), np.float32)
    spread = rng.uniform(0.3, 1.2, n_clusters).astype(np.float32)
    shares = rng.dirichlet(np.ones(n_clusters))
    for first in range(0, n_rows, chunk_size):
        label = rng.choice(n_clusters, min(chunk_size, n_rows - first), p=shares)
        noise = rng.standard_normal((len(label), n_columns), np.float32)
        yield centers[label] + spread[label, None] * noise


def orders(n_rows: int, *, chunk_size: int = 50_000, random_state: int = 0) -> Iterator[Any]:
    """Arrow tables of made-up orders as a shop would export them, generated lazily.

    Numbers in different units, a category, times in order, a boolean, gaps, and ids that say nothing. There are six
    kinds of orders, in the last column, to be excluded from learning.

    >>> tables = list(orders(120, chunk_size=100))
    >>> [len(table) for table in tables], tables[0].column_names[:3]
    ([100, 20], ['order_id', 'placed', 'country'])
    """
    pa = require("pyarrow", "made-up orders")
    rng = np.random.default_rng(random_state)
    n_kinds, countries = 6, np.array(["AT", "CH", "DE", "ES", "FR", "IT", "NL", "PL"])
    cents, grams = rng.uniform(7, 11, n_kinds), rng.uniform(5, 10, n_kinds)  # logarithms of typical values
    days, n_items = rng.uniform(1, 12, n_kinds), rng.uniform(1, 9, n_kinds)
    usual = rng.dirichlet(0.5 * np.ones(len(countries)), n_kinds)
    start, gap = np.datetime64("2024-01-01T00:00:00", "us"), 15_000_000  # microseconds between orders, on average
    clock = 0.0
    for first in range(0, n_rows, chunk_size):
        n = min(chunk_size, n_rows - first)
        kind = rng.integers(n_kinds, size=n)
        moments = clock + np.cumsum(rng.exponential(gap, n))
        clock = moments[-1]
        country = countries[(rng.random((n, 1)) > usual[kind].cumsum(axis=1)).sum(axis=1).clip(max=len(countries) - 1)]
        rating = np.where(rng.random(n) < 0.3, np.nan, np.clip(rng.normal(5 - 0.3 * days[kind], 0.8), 1, 5))
        yield pa.table(
            {
                "order_id": [f"{a:016x}-{b:08x}" for a, b in zip(*rng.integers(2**32, size=(2, n)), strict=True)],
                "placed": start + moments.astype("timedelta64[us]"),
                "country": country,
                "amount_cents": np.round(rng.lognormal(cents[kind], 0.3)).astype(np.int64),
                "weight_g": rng.lognormal(grams[kind], 0.3),
                "items": 1 + rng.poisson(n_items[kind]),
                "delivery_days": rng.gamma(4 * days[kind], 0.25),
                "express": rng.random(n) < 1 / days[kind],
                "rating": pa.array(rating, mask=np.isnan(rating)),
                "kind": kind,
            }
        )


def waveform(n_rows: int, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's waves: rows of 21 columns and their classes 0, 1 and 2 (breiman1984, section 2.6.2).

    A row is a random convex combination of two of three triangular waves, plus normal noise of variance 1 in every
    column; the class says which two. The Bayes classifier classifies 86% of the rows correctly.

    >>> X, y = waveform(300)
    >>> X.shape, np.unique(y).tolist()
    ((300, 21), [0, 1, 2])
    """
    rng = np.random.default_rng(random_state)
    peaks = np.array([[7], [15], [11]])
    waves = np.maximum(6 - np.abs(np.arange(1, 22) - peaks), 0)  # (3, 21)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    label = rng.integers(3, size=n_rows)
    share = rng.uniform(size=(n_rows, 1))
    first, second = waves[pairs[label].T]
    return share * first + (1 - share) * second + rng.normal(size=(n_rows, 21)), label


def two_gaussians(
    n_rows: int, n_columns: int, *, separability: float = 0.85, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows from two overlapping Gaussian clusters of equal size and shape, and their classes 0 and 1.

    The Bayes classifier is linear and classifies a fraction `separability` of the rows correctly. The clusters are
    stretched by a random linear map, and shifted.

    >>> X, y = two_gaussians(300, 2)
    >>> X.shape, np.unique(y).tolist()
    ((300, 2), [0, 1])
    """
    rng = np.random.default_rng(random_state)
    direction = rng.normal(size=n_columns)
    half_way = NormalDist().inv_cdf(separability) * direction / np.linalg.norm(direction)
    stretch, shift = rng.normal(size=(n_columns, n_columns)), rng.normal(size=n_columns)
    label = rng.integers(2, size=n_rows)
    rows = rng.normal(size=(n_rows, n_columns)) + np.where(label[:, None], half_way, -half_way)
    return rows @ stretch + shift, label


def lucic_synthetic(n_rows: int = 100_000, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """SYNTHETIC of lucic2015 (section 7): float32 rows of 100 columns, and the 100 centers of their clusters.

    Clusters are spherical, with variance 5 in every column, and far apart in the cube from 0 to 100. Their shares are
    Dirichlet with parameter 1/20: a few clusters hold most of the rows, and more than half of them almost none.

    >>> X, centers = lucic_synthetic(300)
    >>> X.shape, centers.shape
    ((300, 100), (100, 100))
    """
    rng = np.random.default_rng(random_state)
    centers = rng.uniform(0, 100, (100, 100)).astype(np.float32)
    label = rng.choice(100, n_rows, p=rng.dirichlet(np.full(100, 1 / 20)))
    rows = rng.standard_normal((n_rows, 100), np.float32)
    rows *= np.float32(np.sqrt(5))
    rows += centers[label]
    return rows, centers


def crowd_answers(
    n_items: int = 200,
    n_workers: int = 40,
    *,
    n_attributes: int = 2,
    n_seen: int = 1,
    task_size: int = 20,
    n_answers: int = 180,
    slip_rate: float = 0.05,
    random_state: int = 0,
) -> tuple[Answers, np.ndarray]:
    """Answers of simulated schools of workers, and the true cluster of each item.

    Items have binary attributes, and each combination is a cluster. A worker sees `n_seen` of them, as all workers of
    the same school do, and sorts the items of a task by these. With probability `slip_rate`, an item is put in a random
    group.

    >>> answers, truth = crowd_answers(50, 6, task_size=10, n_answers=12)
    >>> len(answers), answers.n_answers, len(truth)
    (120, 12, 50)
    """
    rng = np.random.default_rng(random_state)
    attributes = rng.integers(2, size=(n_items, n_attributes))
    worker = np.arange(n_answers) % n_workers
    seen = (worker[:, None] % n_attributes + np.arange(n_seen)) % n_attributes  # (n_answers, n_seen)
    item = np.array([rng.choice(n_items, task_size, replace=False) for _ in range(n_answers)])
    group = attributes[item[:, :, None], seen[:, None]] @ (1 << np.arange(n_seen))
    slips = rng.random(group.shape) < slip_rate
    group[slips] = rng.integers(1 << n_seen, size=slips.sum())
    each = np.repeat(np.arange(n_answers), task_size)
    return Answers(worker[each], each, item.ravel(), group.ravel()), attributes @ (1 << np.arange(n_attributes))


def greebles(n_items: int = 200, random_state: int | np.random.Generator = 0) -> np.ndarray:
    """Greebles of gomes2011, section 7.5.1: height, body colour and dots of each item.

    Height (1 tall, -1 short) and body colour (1 green, -1 yellow) are from four Gaussians around (+-1, +-1) with
    standard deviation 0.1. Dots are blue (1) or red (-1) at random. `modicum.plot.greebles` draws them.

    >>> greebles(50).shape
    (50, 3)
    """
    rng = np.random.default_rng(random_state)
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    bodies = corners[rng.integers(4, size=n_items)] + 0.1 * rng.normal(size=(n_items, 2))
    return np.column_stack([bodies, np.where(rng.random(n_items) < 0.5, 1.0, -1.0)])


def greeble_sorting(
    attributes: np.ndarray,
    school: int | np.ndarray,
    *,
    slip_rate: float = 0.05,
    random_state: int | np.random.Generator = 0,
) -> np.ndarray:
    """The group, 0 or 1, in which a simulated worker puts each of some Greebles: the sign of one attribute.

    The school of the worker, or of the worker of each Greeble, is the attribute: 0 height, 1 body colour, 2 dots. With
    probability `slip_rate`, a Greeble is put in a random group.

    >>> greeble_sorting(np.array([[1.1, -0.9, -1.0], [-0.9, -1.1, 1.0]]), 0, slip_rate=0.0)
    array([1, 0])
    """
    rng = np.random.default_rng(random_state)
    group = (attributes[np.arange(len(attributes)), school] > 0).astype(int)
    slips = rng.random(len(group)) < slip_rate
    return np.where(slips, rng.integers(2, size=len(group)), group)
