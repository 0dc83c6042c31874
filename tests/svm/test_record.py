"""The record of rows classified before they were learned, against counts by hand."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chisquare

from modicum import state
from modicum.svm import record as module
from modicum.svm.record import BINS, Record, likeliest_sharpness, log_probabilities

pytestmark = pytest.mark.nojit


def record(n_classes):
    made = Record()
    for k in range(n_classes):
        made.add_class(0 if k == 0 else 1 if k == 1 else k + 1)
    return made


def data(count, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, count)
    decisions = rng.normal(size=(count, 1 if n_classes == 2 else n_classes))
    if n_classes > 2:
        decisions[np.arange(count), codes] += 1.0
    return decisions, codes


def filled(count, n_classes=3, seed=0, chunk=10**6):
    made, rng = record(n_classes), np.random.default_rng(seed + 100)
    decisions, codes = data(count, n_classes, seed)
    for start in range(0, count, chunk):
        made.add(decisions[start : start + chunk], codes[start : start + chunk], rng)
    return made


def chosen(decisions):
    return (decisions[:, 0] > 0).astype(int) if decisions.shape[1] == 1 else decisions.argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("count", [1, 255, 256, 257, 3000])
def test_counts_and_curve(n_classes, count):
    made = filled(count, n_classes)
    decisions, codes = data(count, n_classes)
    right = chosen(decisions) == codes
    confusion = np.zeros((n_classes, n_classes), int)
    np.add.at(confusion, (codes, chosen(decisions)), 1)
    np.testing.assert_array_equal(made.confusion, confusion)
    assert made.accuracy == pytest.approx(right.mean())
    curve = made.curve()
    assert len(curve["n_seen"]) <= BINS
    assert curve["n_seen"][-1] == count
    parts = np.split(right, curve["n_seen"][:-1])
    np.testing.assert_allclose(curve["accuracy"], [part.mean() for part in parts])


def test_any_chunks_give_the_same_bits():
    whole = state.to_bytes({"record": filled(5000)})
    for chunk in (1, 999):
        assert state.to_bytes({"record": filled(5000, chunk=chunk)}) == whole


def test_a_single_class_is_always_correct():
    made = record(1)
    made.add(np.empty((5, 0)), np.zeros(5, int), np.random.default_rng(0))
    assert made.confusion.tolist() == [[5]]
    assert made.accuracy == 1.0


def test_nothing_seen():
    assert Record().accuracy == 0.0
    assert [len(part) for part in Record().curve().values()] == [0, 0]


def test_the_first_rows_are_all_in_the_sample():
    decisions, codes = data(600)
    sampled, sampled_codes = filled(600).sample
    np.testing.assert_array_equal(sampled, decisions)
    np.testing.assert_array_equal(sampled_codes, codes)


def test_the_sample_prefers_newer_rows(monkeypatch):
    """A row takes a random slot with probability min(1, 4 size / n): the distribution of the rows left."""
    size, count, seeds = 20, 400, 400
    monkeypatch.setattr(module, "SAMPLE", size)
    kept = np.zeros(count)
    for seed in range(seeds):
        made = record(2)
        made.add(np.arange(count, dtype=float)[:, None], np.zeros(count, int), np.random.default_rng(seed))
        values, _ = made.sample
        assert len(np.unique(values)) == size
        kept[values[:, 0].astype(int)] += 1
    n = np.arange(1, count + 1)
    joins = np.where(n <= size, 1.0, np.minimum(1.0, 4.0 * size / n))
    stays = np.where(n <= size, 1.0, 1.0 - joins / size)
    law = joins * np.append(np.cumprod(stays[::-1])[::-1][1:], 1.0)
    assert law.sum() == pytest.approx(size)
    often = law > 0.01  # the rest in one cell
    observed, expected = (np.append(part[often], part[~often].sum()) for part in (kept, law * seeds))
    assert chisquare(observed, expected).pvalue > 1e-6  # false alarms: about one in a million
    assert law[count // 2 :].sum() / size == pytest.approx(15 / 16, abs=0.01)


def test_a_new_class_restarts_the_sample_and_keeps_the_counts():
    made = filled(100, 2)
    before = made.confusion.copy()
    made.add_class(3)
    assert made.sample[0].shape == (0, 3)
    np.testing.assert_array_equal(made.confusion[:2, :2], before)
    assert made.confusion.shape == (3, 3)
    decisions, codes = data(10)
    made.add(decisions, codes, np.random.default_rng(0))
    np.testing.assert_array_equal(made.sample[0], decisions)


@pytest.mark.parametrize(("n_classes", "codes"), [(2, [0, 1]), (2, [1, 0]), (3, [2, 0, 1])])
def test_merged_records_have_the_same_classes(n_classes, codes):
    ours, theirs = filled(300, n_classes), filled(200, n_classes, seed=1)
    codes = np.array(codes)
    expected = ours.confusion.copy()
    expected[np.ix_(codes, codes)] += theirs.confusion
    before = state.to_bytes({"record": theirs})
    ours.merge(theirs, codes, np.random.default_rng(0))
    np.testing.assert_array_equal(ours.confusion, expected)
    assert ours.seen == 500
    assert state.to_bytes({"record": theirs}) == before
    decisions, labels = ours.sample
    assert len(labels) == 500
    mine, their_own = data(300, n_classes), data(200, n_classes, seed=1)
    theirs_here = np.array([1, -1])[codes[:1]] * their_own[0] if n_classes == 2 else their_own[0][:, codes.argsort()]
    both = np.concatenate([mine[0], theirs_here]), np.concatenate([mine[1], codes[their_own[1]]])
    order, twin = np.lexsort(decisions.T), np.lexsort(both[0].T)
    np.testing.assert_array_equal(decisions[order], both[0][twin])
    np.testing.assert_array_equal(labels[order], both[1][twin])


@pytest.mark.parametrize(("ours", "theirs"), [(250, 513), (251, 257), (257, 400), (1, 1000), (3000, 10), (300, 300)])
@pytest.mark.parametrize("wrong", [0.0, 0.5, 1.0])
def test_a_merged_curve_counts_every_row_once(ours, theirs, wrong):
    """The other side misclassifies this share of its rows."""
    made, other = filled(ours), record(3)
    codes = np.arange(theirs) % 3
    falls = np.random.default_rng(2).random(theirs) < wrong
    other.add(np.eye(3)[(codes + falls) % 3], codes, np.random.default_rng(0))
    total = ours - np.trace(made.confusion) + falls.sum()
    made.merge(other, np.arange(3), np.random.default_rng(0))
    curve = made.curve()
    counts = np.diff(curve["n_seen"], prepend=0)
    assert curve["n_seen"][-1] == ours + theirs
    assert ((1 - curve["accuracy"]) * counts).sum() == pytest.approx(total)
    assert curve["accuracy"].min() >= 0.0


@pytest.mark.parametrize(("ours", "theirs"), [(4000, 4000), (9000, 3000), (1000, 100), (3000, 600), (600, 3000)])
def test_each_side_of_a_merged_sample_has_its_share(ours, theirs):
    made, other = filled(ours, 2), filled(theirs, 2, seed=1)
    known = set(made.sample[0][:, 0].tolist())
    made.merge(other, np.array([0, 1]), np.random.default_rng(0))
    values, _ = made.sample
    assert len(values) == min(1000, ours + theirs)
    part = np.mean([value not in known for value in values[:, 0].tolist()])
    assert part == pytest.approx(min(theirs / (ours + theirs), 1.0), abs=0.01)
    made.add(*data(50, 2, seed=5), np.random.default_rng(1))
    assert len(made.sample[0]) == 1000


def test_a_record_of_fewer_classes_leaves_the_sample_alone():
    ours, theirs = filled(100, 3), filled(50, 2)
    before = ours.sample[0].copy()
    ours.merge(theirs, np.array([2, 0]), np.random.default_rng(0))
    np.testing.assert_array_equal(ours.sample[0], before)
    assert ours.seen == 150
    assert ours.confusion.sum() == 150


@pytest.mark.parametrize("sharpness", [0.3, 5.0, 400.0])
def test_the_likeliest_sharpness_is_found(sharpness):
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=20000) * 2 / sharpness
    codes = (rng.random(20000) < expit(sharpness * decisions)).astype(int)
    found = likeliest_sharpness(decisions, codes)
    grid = found * np.geomspace(0.5, 2.0, 201)
    losses = [-log_probabilities(s * decisions)[np.arange(20000), codes].mean() for s in grid]
    assert grid[np.argmin(losses)] == pytest.approx(found, rel=0.01)
    assert found == pytest.approx(sharpness, rel=0.1)


def test_sharpness_of_nothing_is_finite():
    assert likeliest_sharpness(np.empty(0), np.empty(0, int)) == 1.0
    sharpness = likeliest_sharpness(np.zeros(4), np.array([0, 1, 0, 1]))
    assert np.isfinite(log_probabilities(sharpness * np.array([1e10]))).all()


def test_log_probabilities():
    two = np.exp(log_probabilities(np.array([0.0, 3.0, -800.0])))
    np.testing.assert_allclose(two[:, 1], expit([0.0, 3.0, -800.0]), atol=1e-300)
    many = np.exp(log_probabilities(np.array([[1.0, 2.0, 3.0], [900.0, 0.0, -900.0]])))
    np.testing.assert_allclose(many.sum(axis=1), 1.0)
    np.testing.assert_allclose(many[0], np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum())
