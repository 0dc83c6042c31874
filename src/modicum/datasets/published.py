"""The data sets of the papers.

Files are read from the folder in the environment variable MODICUM_DATA.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

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
