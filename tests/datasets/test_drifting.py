"""Streams that change: their laws, to six deviations of a share or mean of 20,000 rows."""

import numpy as np
import pytest

import modicum
from modicum.datasets import Generated, autocorrelated, changing, friedman, hyperplane, linear, sea

N = 20_000
SHARE = 0.021  # six deviations of a share of N rows

WORLDS = [
    sea(1),
    hyperplane(4, turn=3.0),
    autocorrelated(3, turn=3.0),
    linear(4, turn=3.0),
    friedman(2),
    changing([sea(0), sea(1)], [2500], width=1000),
]


@pytest.mark.parametrize("world", WORLDS)
def test_rows_do_not_depend_on_chunks_and_can_be_read_again(world):
    X, y = Generated(world, 4321, random_state=3).rows()
    assert len(X) == len(y) == 4321
    for size in (1, 7, 999, 1000, 5000):
        source = Generated(world, 4321 if size > 1 else 50, chunk_size=size, random_state=3)
        for _ in range(2):
            parts = list(source)
            assert {len(part) for part, _ in parts[:-1]} <= {size}
            np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), X[: source.n_rows])
            np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), y[: source.n_rows])
    assert not np.array_equal(X, Generated(world, 4321, random_state=4).rows()[0])


def test_a_stream_reads_them_in_several_passes():
    rows = modicum.stream(Generated(sea(0), 1500), chunk_size=400, passes=2)
    assert [len(chunk) for chunk in rows] == [400, 400, 400, 300] * 2


@pytest.mark.parametrize(("concept", "threshold"), [(0, 8), (1, 9), (2, 7), (3, 9.5)])
def test_concepts_of_sea(concept, threshold):
    X, y = Generated(sea(concept, noise=0.1), N).rows()
    above = X[:, 0] + X[:, 1] > threshold
    assert ((X >= 0) & (X <= 10)).all()
    assert above.mean() == pytest.approx(1 - threshold**2 / 200, abs=SHARE)
    assert (y != above).mean() == pytest.approx(0.1, abs=SHARE)
    clean = Generated(sea(concept, noise=0.0), 1000).rows()
    np.testing.assert_array_equal(clean[1], clean[0][:, 0] + clean[0][:, 1] > threshold)


def direction_between(X, y):
    """Direction of the difference between the means of two classes."""
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    return difference / np.linalg.norm(difference)


@pytest.mark.parametrize("make", [hyperplane, autocorrelated])
def test_boundaries_turn_as_asked(make):
    """By 3 degrees per 1,000 rows: 57 from the middle of the first 2,000 to that of the last 2,000 rows."""
    X, y = Generated(make(4, turn=3.0), 21_000).rows()
    ends = direction_between(X[:2000], y[:2000]), direction_between(X[-2000:], y[-2000:])
    assert np.rad2deg(np.arccos(ends[0] @ ends[1])) == pytest.approx(57, abs=8)


def test_a_plane_that_stands_still_errs_by_its_angle():
    X, y = Generated(hyperplane(6, turn=4.5, noise=0.05), N).rows()
    first = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0][:, 0]
    wrong = (y != (X @ first > 0)).reshape(4, -1).mean(axis=1)
    angles = 4.5 * np.array([2.5, 7.5, 12.5, 17.5]) / 180
    np.testing.assert_allclose(wrong, angles * 0.9 + 0.05, atol=2 * SHARE)


def test_classes_come_in_runs_and_rows_tell_as_much_as_asked():
    X, y = Generated(autocorrelated(5, same=0.85, separability=0.76), N).rows()
    assert (y[1:] == y[:-1]).mean() == pytest.approx(0.85, abs=SHARE)
    assert y.mean() == pytest.approx(0.5, abs=0.06)  # rows in runs tell less: 20,000 are worth about 3,500
    direction = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0][:, 0]
    assert ((X @ direction > 0) == y).mean() == pytest.approx(0.76, abs=2 * SHARE)


def test_a_linear_target_turns_as_asked():
    X, y = Generated(linear(5, turn=4.5, noise=0.3), N).rows()
    weights = [np.linalg.lstsq(X[rows], y[rows], rcond=None)[0] for rows in (slice(1000), slice(-1000, None))]
    angle = np.arccos(weights[0] @ weights[1] / np.linalg.norm(weights[0]) / np.linalg.norm(weights[1]))
    assert np.rad2deg(angle) == pytest.approx(4.5 * 19, abs=5)
    late = y[-1000:] - X[-1000:] @ weights[0]
    assert (late**2).mean() == pytest.approx(2 - 2 * np.cos(angle) + 0.09, rel=0.2)


@pytest.mark.parametrize("shift", [0, 4, 9])
def test_targets_of_friedman(shift):
    X, y = Generated(friedman(shift, noise=1.0), N).rows()
    a, b, c, d, e = (X[:, (shift + i) % 10] for i in range(5))
    rest = y - 10 * np.sin(np.pi * a * b) - 20 * (c - 0.5) ** 2 - 10 * d - 5 * e
    assert rest.mean() == pytest.approx(0, abs=0.05)
    assert rest.std() == pytest.approx(1, abs=0.04)


def noiseless(concept):
    return sea(concept, noise=0.0)


def test_abrupt_changes_are_where_asked_and_worlds_come_back():
    X, y = Generated(changing([noiseless(2), noiseless(3), noiseless(2)], [7000, 12_345]), N).rows()
    sums = X[:, 0] + X[:, 1]
    place = np.searchsorted([7000, 12_345], np.arange(N), side="right") % 2
    np.testing.assert_array_equal(y, sums > np.array([7, 9.5])[place])


def test_gradual_changes_are_as_wide_as_asked():
    X, y = Generated(changing([noiseless(2), noiseless(3)], [N // 2], width=4000), N).rows()
    sums = X[:, 0] + X[:, 1]
    tell = (sums > 7) & (sums <= 9.5)  # rows on which the two worlds differ
    after, new = np.flatnonzero(tell) - N // 2, y[tell] == 0
    for low, high in ((-10_000, -6000), (-3000, -1000), (-500, 500), (1000, 3000), (6000, 10_000)):
        inside = (after >= low) & (after < high)
        expected = (1 / (1 + np.exp(-4 * after[inside] / 4000))).mean()
        assert new[inside].mean() == pytest.approx(
            expected, abs=6 * np.sqrt(max(expected * (1 - expected), 0.01) / inside.sum())
        )


def test_positions_are_checked():
    with pytest.raises(ValueError, match="2 worlds have 1 changes; got 2"):
        changing([sea(0), sea(1)], [1, 2])
