"""Small fitted learners, one for each kind of rows."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from modicum import BlockGreedy, ExemplarClustering, OnlineGreedy, StreamSVC, stream
from modicum.plot import write_report


@pytest.fixture(scope="session")
def blobs():
    """Three distant blobs of 600, 300 and 100 rows in 5 columns."""
    rng = np.random.default_rng(0)
    centers = 20 * np.eye(5)[[0, 1, 2]]
    X = np.repeat(centers, [600, 300, 100], axis=0) + rng.normal(size=(1000, 5))
    return X[rng.permutation(1000)]


@pytest.fixture(scope="session")
def dense(blobs):
    return ExemplarClustering(3, random_state=0).fit(blobs)


@pytest.fixture(scope="session")
def digits():
    return ExemplarClustering(12, n_validation=400, random_state=0).fit(load_digits().data)


@pytest.fixture(scope="session")
def sparse_rows():
    X = sparse.random(400, 300, density=0.03, format="csr", random_state=0)
    return ExemplarClustering(6, dissimilarity="cosine", random_state=0).fit(X)


def unlike(a, b):
    """The number of letters in only one of two words."""
    return float(len(set(a) ^ set(b)))


@pytest.fixture(scope="session")
def words():
    return ExemplarClustering(2, dissimilarity=unlike, random_state=0).fit(
        ["abc", "abcd", "ab", "xyz", "xyzw", "xy"] * 4
    )


@pytest.fixture(scope="session")
def prototypes(blobs):
    return OnlineGreedy(30, min_gain=1e-4).fit(stream(blobs, chunk_size=100))


@pytest.fixture(scope="session")
def blocks(blobs):
    return BlockGreedy(30, block_size=6, neighbors=10, random_state=0).fit(stream(blobs, chunk_size=100))


@pytest.fixture(scope="session")
def wave():
    """Rows and targets of a simple function."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(1500, 2))
    return X, np.sin(2 * X[:, 0]) + rng.normal(0, 0.1, len(X))


@pytest.fixture(scope="session")
def classified():
    """A classifier of digits, after one pass."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return StreamSVC(random_state=0).fit(X[order], y[order])


@pytest.fixture(scope="session")
def spam():
    """Two named classes; two of four columns are relevant."""
    X = np.random.default_rng(0).normal(size=(900, 4))
    y = np.where(X[:, 1] - 2 * X[:, 3] > 0.5, "spam", "ham")
    return StreamSVC(random_state=0).fit(stream(X, target=y, chunk_size=100))


@pytest.fixture
def text_of(tmp_path):
    """The text of a report."""

    def write(learner, **given):
        write_report(tmp_path / "r.html", learner, **given)
        html = (tmp_path / "r.html").read_text("utf-8")
        return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL).split())

    return write
