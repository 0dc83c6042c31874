"""Data for examples, tests and benchmarks: seeded generators, and the data sets of the papers.

Files of data sets are read from the folder in the environment variable MODICUM_DATA.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from modicum._optional import require
from modicum.crowd.answers import Answers
from modicum.exceptions import DataError

CHECKSUMS = {  # sha256: other copies differ in rows, order or scale, and results would not be comparable
    "boston_housing.npz": "d1bd3d97f147b6b6df1da29e41da49a117fc2979f538c259252afcacab893d86",
    "crowd_clustering_dogs3_birds5.npz": "b7039c7544935929611cf92f371f15d7affe68c872e480dfc32b8f3ce0ab0d18",
    "crowd_orchestra_bluebirds.npz": "09f59074078b807b80c26d7abdfc5260d1245c96ea6e138ea5e8f57e168a685a",
    "cifar10_test.npz": "0513c5802412649c22a3c08dda8896f66a1f7b787bf5dff4105db191fc9d5917",
    "ijcnn1.npz": "db0664d3535443edc731858a8711625e74b8f61aa611c2d9f250640992b3a539",
    "kdd04_bio.npz": "7208bdf998b97bd086a53248f6a3fafdb79fdb757a3be18282d76cf8f21e378a",
    "kddcup99_10pct.npz": "f9d6e74ed3f35c2b9987676c1c43e546958f278b1dca5a19abe844dd72f08ac9",
    "kin40k.npz": "ac38832afcda818cc10d92e95f70e4b416a816b3eedeb33f838c6c980aff729e",
    "mnist.npz": "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64",
    "parkinsons_telemonitoring.npz": "dab1ef0c6062fb26a5a8fc763324494b787161c5d590ec320071feae6225df0e",
    "santafe_laser.npz": "a0c023b581dfdbccf9562e13e7e6e3f69e0f5fa6e55db5583e7137dba3553078",
}
SYMBOLIC = ("protocol_type", "service", "flag", "land", "logged_in", "is_host_login", "is_guest_login")


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


def dogs_and_birds() -> dict[str, tuple[Answers, np.ndarray]]:
    """Real workers who grouped 2 to 5 pictures of dogs or birds at a time, and the true classes, by experiment.

    From Chen and Vinayak, WWW 2025: ten experiments with 300 workers each.
    """
    found = _read("crowd_clustering_dogs3_birds5.npz")
    experiments = {}
    for number, name in enumerate(found["experiments"].tolist()):
        rows = found["experiment"] == number
        columns = (found[column][rows].astype(np.int64) for column in ("worker", "question", "item", "group"))
        experiments[name] = Answers(*columns), found["truth_dogs3" if "dogs3" in name else "truth_birds5"]
    return experiments


def orchestra() -> dict[str, tuple[Answers, np.ndarray]]:
    """Unknown workers who grouped 35 pictures of scenes or objects at a time, and the true classes, by batch.

    From Jain, Das Sarma, Parameswaran and Widom, arXiv 1601.02034. Items are numbered within their batch.
    """
    found = _read("crowd_orchestra_bluebirds.npz")
    batches = {}
    for number, name in enumerate(found["batches"].tolist()):
        rows = found["batch"] == number
        answer = found["hit"][rows].astype(np.int64) * 256 + found["answer"][rows]
        items, item = np.unique(found["item"][rows], return_inverse=True)
        answers = Answers(answer, answer, item, found["group"][rows].astype(np.int64))
        batches[name] = answers, found["item_category"][items]
    return batches


def telemonitoring() -> tuple[np.ndarray, np.ndarray]:
    """Parkinson's Telemonitoring: 5,875 x 20 and the motor score.

    The total score, the other target, is left out; the number of the patient is one of the columns.
    """
    found = _read("parkinsons_telemonitoring.npz")
    names = found["columns"].tolist()
    inputs = [column for column, name in enumerate(names) if name not in ("motor_UPDRS", "total_UPDRS")]
    return found["x"][:, inputs], found["x"][:, names.index("motor_UPDRS")]


def boston_housing() -> tuple[np.ndarray, np.ndarray]:
    """Boston Housing: 506 x 13 and the median value of homes in thousands of dollars."""
    table = _read("boston_housing.npz")["x"]
    return table[:, :-1], table[:, -1]


def santa_fe_laser() -> np.ndarray:
    """Santa Fe time series A: 10,093 intensities of a laser; the competition gave the first 1,000 for training."""
    return _read("santafe_laser.npz")["series"].astype(np.float64)


def kdd04_bio() -> np.ndarray:
    """KDD Cup 2004, protein homology: 144,879 x 74, columns of very different scale.

    The training file of the competition has 145,751 rows; the others are not in this copy, and the order is random.
    """
    return _read("kdd04_bio.npz")["x"]


def kdd_cup99() -> tuple[np.ndarray, list[str]]:
    """KDD Cup 1999, the 10 percent file in its order: 494,021 x 41 and the names of columns.

    Columns in `SYMBOLIC` are codes of categories.
    """
    found = _read("kddcup99_10pct.npz")
    return found["x"], found["columns"].tolist()


def kin40k() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """KIN40K: 10,000 training rows of 8 columns and their targets, then 30,000 test rows and theirs."""
    found = _read("kin40k.npz")
    X, y, X_test, y_test = (found[name].astype(np.float64) for name in ("x_train", "y_train", "x_test", "y_test"))
    return X, y.ravel(), X_test, y_test.ravel()


def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """MNIST: 60,000 training digits as rows of 784 pixels from 0 to 255 and their labels, then 10,000 for tests."""
    found = _read("mnist.npz")
    X, y, X_test, y_test = (found[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    return X.reshape(len(X), -1), y, X_test.reshape(len(X_test), -1), y_test


def mnist_principal(n_columns: int = 50) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """MNIST on the first principal components of its training digits, pixels from 0 to 1, as `mnist` gives it.

    Training digits are in a fixed random order, because the order of the file is not random.
    """
    from sklearn.decomposition import PCA  # seconds to import

    X, y, X_test, y_test = mnist()
    order = np.random.default_rng(1).permutation(len(X))
    pixels, pixels_test = X.astype(np.float32) / 255, X_test.astype(np.float32) / 255
    pca = PCA(n_columns, svd_solver="covariance_eigh").fit(pixels)
    X, X_test = (pca.transform(rows).astype(np.float64) for rows in (pixels, pixels_test))
    return X[order], y[order], X_test, y_test


def image_patches(
    n_rows: int = 330_000, *, size: int = 7, min_deviation: float = 10.0, random_state: int = 0
) -> np.ndarray:
    """Patches of CIFAR-10's test images in grey, as float32 rows of `size` x `size` pixels and unit norm.

    They are cut at distinct random positions where the standard deviation of pixels (0 to 255) is at least
    `min_deviation`, as in gomes2008, section 2.6, whose images and threshold are not available.
    """
    grey = _read("cifar10_test.npz")["x"].mean(axis=3, dtype=np.float32)
    windows, squares = (
        np.lib.stride_tricks.sliding_window_view(values, (size, size), axis=(1, 2)) for values in (grey, grey**2)
    )
    variance = squares.mean(axis=(3, 4)) - windows.mean(axis=(3, 4)) ** 2
    positions = np.random.default_rng(random_state).choice(
        np.flatnonzero(variance >= min_deviation**2), n_rows, replace=False
    )
    patches = windows[np.unravel_index(positions, variance.shape)].reshape(n_rows, size**2)
    return patches / np.linalg.norm(patches, axis=1, keepdims=True)


def ijcnn1() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """IJCNN1: 49,990 training rows of 22 columns and their labels -1 and 1, then 91,701 test rows and theirs.

    The last 14,990 training rows were held out for validation by the winner of the competition.
    """
    found = _read("ijcnn1.npz")
    X, X_test = (found[name].astype(np.float64) for name in ("x_train", "x_test"))
    return X, found["y_train"].astype(np.int64), X_test, found["y_test"].astype(np.int64)


def _read(name: str) -> Mapping[str, np.ndarray]:
    path = Path(os.environ.get("MODICUM_DATA", "")) / name
    if not path.is_file():
        raise DataError(
            f"{name} is not in the folder {str(path.parent)!r}. Set MODICUM_DATA to the folder that contains it."
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != CHECKSUMS[name]:
        raise DataError(f"{path} is not the expected file: its sha256 differs.")
    with np.load(path) as arrays:
        return dict(arrays)
