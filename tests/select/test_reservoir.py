"""Samples: the laws they obey, and what merging keeps of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare, kstest

from modicum import Reservoir
from modicum.rows import BottomK

FALSE_ALARM = 1e-6  # p-value below which a law counts as broken
N, SIZE = 12, 3


def sample(seed, chunks, size=SIZE, weight=None, first=0, into=None):
    """A sample of rows numbered from `first`, offered in chunks."""
    bottom = BottomK(size) if into is None else into
    rng = np.random.default_rng(seed)
    start = first
    for count in chunks:
        rows = np.arange(start, start + count)
        bottom.offer(count, None if weight is None else weight[rows], rows, rng)
        start += count
    return bottom


@pytest.mark.parametrize("chunks", [[12], [1] * 12, [4, 8], [2, 7, 3]])
def test_every_row_is_kept_equally_often(chunks):
    kept = np.zeros(N)
    for seed in range(4000):
        kept[sample(seed, chunks).row_ids] += 1
    assert chisquare(kept).pvalue > FALSE_ALARM


@pytest.mark.parametrize("chunks", [[6], [1] * 6, [3, 3]])
def test_every_pair_is_kept_equally_often(chunks):
    """Marginal uniformity is not enough: all sets of the size must be equally likely."""
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        pair = tuple(sorted(sample(seed, chunks, size=2).row_ids))
        counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 15
    assert chisquare(list(counts.values())).pvalue > FALSE_ALARM


def test_merged_samples_are_uniform_over_both_parts():
    kept = np.zeros(N)
    for seed in range(4000):
        left = sample(seed, [8])
        left.merge(sample(10_000 + seed, [4], first=8))
        kept[left.row_ids] += 1
    assert chisquare(kept).pvalue > FALSE_ALARM


def test_a_merged_sample_goes_on_as_a_uniform_one():
    kept = np.zeros(N)
    for seed in range(4000):
        left = sample(seed, [4])
        left.merge(sample(10_000 + seed, [4], first=4))
        kept[sample(20_000 + seed, [1, 3], first=8, into=left).row_ids] += 1
    assert chisquare(kept).pvalue > FALSE_ALARM


def test_keys_are_those_of_a_row_by_row_draw():
    """The smallest key of n exponentials of rate 1 has rate n, however the chunks were cut."""
    smallest = []
    for seed in range(2000):
        bottom = BottomK(1)
        rng = np.random.default_rng(seed)
        for count in (5, 20, 75):
            bottom.offer(count, None, np.arange(count), rng)
        smallest.append(bottom.keys.min())
    assert kstest(np.array(smallest) * 100, "expon").pvalue > FALSE_ALARM


@pytest.mark.parametrize("chunks", [[12], [5, 7], [1] * 12])
def test_weighted_sums_are_unbiased(chunks):
    """The estimate of any part's share of the weight is right on average."""
    weight = np.array([1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 4], float)
    part = np.arange(N) < 4
    estimates = []
    for seed in range(3000):
        bottom = sample(seed, chunks, size=4, weight=weight)
        represented = bottom.weights / -np.expm1(-bottom.weights * bottom.threshold)
        estimates.append(represented[part[bottom.row_ids]].sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - weight[part].sum()) < 5 * error  # once in 1.7 million runs


def test_heavier_rows_are_kept_in_proportion():
    weight = np.arange(1.0, 7.0)
    first = np.zeros(6)
    for seed in range(6000):
        first[sample(seed, [2, 4], size=1, weight=weight).row_ids[0]] += 1
    assert chisquare(first, 6000 * weight / weight.sum()).pvalue > FALSE_ALARM


def test_nothing_is_lost_before_it_is_full():
    reservoir = Reservoir(50, random_state=0).partial_fit(np.zeros((3, 2))).partial_fit(np.zeros((4, 2)))
    assert reservoir.is_exact_
    np.testing.assert_array_equal(np.sort(reservoir.point_ids_), np.arange(7))
    np.testing.assert_allclose(reservoir.point_weights_, 1.0)
    assert not reservoir.partial_fit(np.zeros((90, 2))).is_exact_


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(1, 40), st.integers(0, 10))
def test_rows_targets_and_ids_stay_together(chunks, size, seed):
    reservoir = Reservoir(size, random_state=seed)
    start = 0
    for count in chunks:
        ids = np.arange(start, start + count)
        reservoir.partial_fit(np.column_stack([ids, -ids]).astype(float), y=ids * 10, row_ids=ids + 1000)
        start += count
    if start:
        assert reservoir.n_retained_ == min(size, start)
        ids = reservoir.point_ids_ - 1000
        np.testing.assert_array_equal(reservoir.points_, np.column_stack([ids, -ids]))
        np.testing.assert_array_equal(reservoir.targets_, ids * 10)
        assert len(set(ids)) == len(ids)
        assert reservoir.point_weights_.sum() == pytest.approx(start)


def test_shrinking_keeps_a_uniform_sample():
    kept = np.zeros(8)
    for seed in range(4000):
        bottom = BottomK(6)
        bottom.offer(8, None, np.arange(8), np.random.default_rng(seed))
        bottom.shrink_to(2)
        kept[bottom.row_ids] += 1
    assert chisquare(kept).pvalue > FALSE_ALARM


def test_few_rows_are_let_in():
    """Skipping: about size * log(n / size) rows of a long stream are touched."""
    bottom, rng = BottomK(100), np.random.default_rng(0)
    taken = sum(len(bottom.offer(10_000, None, np.arange(10_000), rng)[0]) for _ in range(100))
    assert taken < 2 * 100 * np.log(1_000_000 / 100)


def test_one_very_heavy_row_costs_no_more_memory():
    weight = np.ones(1000)
    weight[7] = 1e15
    bottom, rng = BottomK(20), np.random.default_rng(0)
    for _ in range(3):
        bottom.offer(1000, weight, np.arange(1000), rng)
    assert (bottom.row_ids == 7).sum() == 3


@pytest.mark.parametrize("rows", [["word" * 50] * 400, sparse.random(400, 50, 0.5, format="csr", random_state=0)])
def test_rows_of_any_kind_stay_within_bytes(rows):
    reservoir = Reservoir("8 KiB", random_state=0).partial_fit(rows)
    assert 0 < reservoir.nbytes_ <= 8192


def test_targets_come_with_all_chunks_or_none():
    reservoir = Reservoir(5, random_state=0).partial_fit(np.zeros((9, 2)), y=np.arange(9))
    before = reservoir.to_bytes()
    with pytest.raises(ValueError, match="targets"):
        reservoir.partial_fit(np.zeros((9, 2)))
    assert reservoir.to_bytes() == before


def test_objects_can_be_sampled():
    reservoir = Reservoir(4, random_state=0).partial_fit([f"word {i}" for i in range(30)])
    assert [f"word {i}" for i in reservoir.point_ids_] == reservoir.points_
