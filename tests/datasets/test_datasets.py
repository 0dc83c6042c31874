"""Generators have the documented distributions; loaders return the documented rows, if the files are available."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances_argmin

from modicum import datasets
from modicum.exceptions import DataError

DATA = Path(os.environ.get("MODICUM_DATA", ""))
SHAPES = {
    "ijcnn1": [(49990, 22), (49990,), (91701, 22), (91701,)],
    "kin40k": [(10000, 8), (10000,), (30000, 8), (30000,)],
    "mnist": [(60000, 784), (60000,), (10000, 784), (10000,)],
}


@pytest.mark.parametrize(
    "make", [datasets.waveform, partial(datasets.two_gaussians, n_columns=3), datasets.lucic_synthetic]
)
def test_same_seed_same_rows(make):
    for first, second in zip(make(50, random_state=3), make(50, random_state=3), strict=True):
        np.testing.assert_array_equal(first, second)


def test_waves_peak_where_breiman_puts_them():
    X, y = datasets.waveform(30_000, random_state=1)
    for label, peaks in enumerate([(7, 15), (7, 11), (11, 15)]):
        waves = [[max(6 - abs(i - peak), 0) for i in range(1, 22)] for peak in peaks]
        rows = X[y == label]
        # shares are uniform, so the mean is half way; deviations of a mean of 10,000 rows are below 0.021
        np.testing.assert_allclose(rows.mean(axis=0), np.mean(waves, axis=0), atol=0.12)
        np.testing.assert_allclose(rows[:, [0, 20]].std(axis=0), 1, atol=0.05)  # noise alone
    assert np.bincount(y).min() > 9500


@pytest.mark.parametrize("separability", [0.6, 0.85, 0.99])
@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_gaussians_are_as_separable_as_asked(n_columns, separability):
    X, y = datasets.two_gaussians(20_000, n_columns, separability=separability, random_state=2)
    found = LinearDiscriminantAnalysis().fit(X[:10_000], y[:10_000]).score(X[10_000:], y[10_000:])
    assert found == pytest.approx(separability, abs=0.025)  # five deviations of a share of 10,000 rows


def test_clusters_of_lucic_are_round_far_apart_and_uneven():
    X, centers = datasets.lucic_synthetic(20_000, random_state=1)
    assert (X.dtype, X.shape) == (np.float32, (20_000, 100))
    assert centers.min() >= 0
    assert centers.max() <= 100
    label = pairwise_distances_argmin(X, centers)
    noise = (X - centers[label]).astype(np.float64)
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.1)  # six deviations of a mean of 20,000
    np.testing.assert_allclose(np.cov(noise.T), 5 * np.eye(100), atol=0.4)  # eight of a variance of 20,000
    share = np.sort(np.bincount(label, minlength=100) / len(X))
    assert share[-10:].sum() > 0.5  # of 1,000 seeds, the ten largest had 0.73 to 1.00
    assert share[:50].sum() < 0.01  # and the smaller half had at most 0.0003


def test_greebles_are_four_clusters_with_dots_at_random():
    found = datasets.greebles(20_000, 1)
    signs = np.sign(found)
    kinds, cluster, count = np.unique(signs, axis=0, return_inverse=True, return_counts=True)
    assert len(kinds) == 8
    np.testing.assert_allclose(count / len(found), 1 / 8, atol=0.014)  # six deviations of a share of 20,000
    np.testing.assert_array_equal(found[:, 2], signs[:, 2])
    for k, corner in enumerate(kinds[:, :2]):
        bodies = found[cluster.ravel() == k, :2]
        np.testing.assert_allclose(bodies.mean(axis=0), corner, atol=0.013)  # six deviations of a mean of 2,400
        np.testing.assert_allclose(np.cov(bodies.T), 0.01 * np.eye(2), atol=0.0018)  # six of a variance
    np.testing.assert_array_equal(datasets.greebles(30, 5), datasets.greebles(30, 5))


def test_greebles_are_sorted_by_the_attribute_of_the_school():
    attributes = datasets.greebles(20_000, 2)
    schools = np.arange(len(attributes)) % 3
    signs = (attributes > 0).astype(int)
    sorting = datasets.greeble_sorting(attributes, schools, slip_rate=0.0)
    np.testing.assert_array_equal(sorting, signs[np.arange(len(signs)), schools])
    for school in range(3):
        sorting = datasets.greeble_sorting(attributes, school, slip_rate=0.2, random_state=3)
        slipped = sorting != signs[:, school]
        assert slipped.mean() == pytest.approx(0.1, abs=0.013)  # half of the random groups are right; six deviations
        assert sorting[slipped].mean() == pytest.approx(0.5, abs=0.067)  # six of a share of 2,000
    rng = np.random.default_rng(3)
    tasks = [datasets.greeble_sorting(attributes[:99], 0, slip_rate=1.0, random_state=rng) for _ in range(2)]
    assert not np.array_equal(*tasks)  # a generator goes on


def skip_without(name):
    if not (DATA / f"{name}.npz").is_file():
        pytest.skip("MODICUM_DATA names no folder with this file")


def test_protein_homology():
    skip_without("kdd04_bio")
    X = datasets.kdd04_bio()
    assert X.shape == (144879, 74)
    np.testing.assert_allclose(X, np.round(X.astype(np.float64), 2), rtol=1e-6, atol=1e-6)  # as the source prints them


@pytest.mark.parametrize("name", SHAPES)
def test_loaders(name):
    skip_without(name)
    assert [array.shape for array in getattr(datasets, name)()] == SHAPES[name]


def stand_in(monkeypatch, **arrays):
    monkeypatch.setattr(datasets.published, "_read", lambda name: arrays)


def test_principal_components_of_digits_keep_what_varies_most(monkeypatch):
    rng = np.random.default_rng(0)
    images, images_test = rng.integers(256, size=(200, 5, 4)), rng.integers(256, size=(30, 5, 4))
    images[:, 2] //= 16  # five rows of pixels, one of which hardly varies
    stand_in(monkeypatch, x_train=images, y_train=np.arange(200), x_test=images_test, y_test=np.arange(30))
    X, y, X_test, y_test = datasets.mnist_principal(16)
    assert (X.dtype, X.shape, X_test.shape) == (np.float64, (200, 16), (30, 16))
    assert sorted(y) == list(range(200))
    np.testing.assert_array_equal(y_test, np.arange(30))
    pixels = images.reshape(200, 20) / 255
    _, values, axes = np.linalg.svd(pixels - pixels.mean(axis=0))
    np.testing.assert_allclose(X.T @ X, np.diag(values[:16] ** 2), atol=1e-3)
    for given, found in ((pixels[y], X), (images_test.reshape(30, 20) / 255, X_test)):
        expected = (given - pixels.mean(axis=0)) @ axes[:16].T
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)  # axes may turn


def test_patches_are_pieces_of_the_images_that_vary(monkeypatch):
    rng = np.random.default_rng(0)
    images = rng.integers(100, 106, (4, 10, 12, 3), np.uint8)  # flat
    images[1, 4:] += rng.integers(100, size=(6, 12, 3), dtype=np.uint8)
    stand_in(monkeypatch, x=images)
    grey = images.mean(axis=3)
    pieces = np.array([grey[1, i : i + 3, j : j + 3].ravel() for i in range(8) for j in range(10)])
    pieces = pieces[pieces.std(axis=1) >= 10]
    pieces /= np.linalg.norm(pieces, axis=1, keepdims=True)
    found = datasets.image_patches(len(pieces), size=3, random_state=1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[np.lexsort(found.T)], pieces[np.lexsort(pieces.T)], atol=1e-6)
    np.testing.assert_array_equal(found, datasets.image_patches(len(pieces), size=3, random_state=1))
    assert not np.array_equal(found, datasets.image_patches(len(pieces), size=3, random_state=2))
    with pytest.raises(ValueError, match="larger sample"):
        datasets.image_patches(len(pieces) + 1, size=3)


def test_another_file_of_that_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("MODICUM_DATA", str(tmp_path))
    with pytest.raises(DataError, match="MODICUM_DATA"):
        datasets.ijcnn1()
    np.savez(tmp_path / "ijcnn1.npz", x_train=np.ones((2, 22)))
    with pytest.raises(DataError, match="sha256"):
        datasets.ijcnn1()
