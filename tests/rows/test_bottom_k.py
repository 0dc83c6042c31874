"""Bottom-k samples: the laws they obey, what merging keeps of them, and their slots."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from modicum import state
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


def test_a_merged_sample_stays_uniform():
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


@pytest.mark.parametrize("weighted", [False, True])
def test_slots_are_where_rows_go(weighted):
    """A column that is written to these slots always has the id of the kept row in each slot."""
    bottom, rng, column = BottomK(7), np.random.default_rng(1), np.empty(0, int)
    for start in range(0, 300, 10):
        ids = np.arange(start, start + 10)
        slots, rows = bottom.offer(10, ids + 1.0 if weighted else None, ids, rng)
        new = slots[slots >= len(column)]
        assert new.tolist() == list(range(len(column), len(column) + len(new)))
        column = np.concatenate([column, np.zeros(len(new), int)])
        column[slots] = ids[rows]
        assert np.array_equal(column, bottom.row_ids)
        if weighted:
            assert np.array_equal(bottom.weights, bottom.row_ids + 1.0)
    assert len(bottom) == 7
    assert bottom.total_weight == (np.arange(1, 301).sum() if weighted else 300)


def test_keys_stay_below_the_threshold_which_never_rises():
    bottom, rng, before = BottomK(5), np.random.default_rng(0), np.inf
    for step in range(50):
        bottom.offer(4, None, np.arange(4), rng)
        assert bottom.keys.max() < bottom.threshold <= before
        assert bottom.is_everything == (step == 0)
        before = bottom.threshold


def test_merging_keeps_the_smallest_keys_of_both():
    left, right = sample(0, [40]), sample(1, [30], first=40)
    keys = np.concatenate([left.keys, right.keys])
    slots, taken = left.merge(right)
    assert np.array_equal(np.sort(left.keys), np.sort(keys)[:SIZE])
    assert np.array_equal(left.row_ids[slots], right.row_ids[taken])
    assert left.total_weight == 70
    assert left.threshold <= np.sort(keys)[SIZE]


def test_shrinking_returns_the_slots_that_stay():
    bottom = sample(0, [50], size=9)
    ids, keys = bottom.row_ids.copy(), bottom.keys.copy()
    stay = bottom.shrink_to(4)
    assert np.array_equal(stay, np.sort(np.argsort(keys)[:4]))
    assert np.array_equal(bottom.row_ids, ids[stay])
    assert bottom.threshold == np.sort(keys)[4]
    assert bottom.shrink_to(6).tolist() == [0, 1, 2, 3]
    assert bottom.size == 4


def test_slots_are_found_by_id():
    bottom = sample(0, [50], size=9)
    assert np.array_equal(bottom.slots_of(bottom.row_ids[::-1]), np.arange(9)[::-1])
    assert bottom.slots_of(np.array([-1, 1000, bottom.row_ids[3]])).tolist() == [-1, -1, 3]


def test_shares_sum_to_one_and_are_weights_before_it_is_full():
    weight = np.arange(1.0, 13.0)
    few, many = sample(0, [12], size=20, weight=weight), sample(0, [12], size=6, weight=weight)
    assert np.allclose(few.shares(), weight[few.row_ids] / 78)
    assert many.shares().sum() == pytest.approx(1)
    assert (many.shares() > weight[many.row_ids] / 78).all()  # the rows that are left out are shared among the others


# ---- fading ----------------------------------------------------------------------------------------------------------


def faded(seed, size=SIZE, into=None, first=0, periods=3):
    """Periods of four rows each; after each, all weights are halved."""
    bottom = BottomK(size) if into is None else into
    for period in range(periods):
        sample((seed, period), [1, 3], first=first + 4 * period, into=bottom)
        bottom.fade(0.5)
    return bottom


FADED = np.repeat([0.125, 0.25, 0.5], 4)  # weights at the end, of three periods


def test_rows_are_kept_by_the_weight_that_they_have_now():
    kept = np.zeros(N)
    for seed in range(2000):
        kept[faded(seed, size=1).row_ids] += 1
    assert chisquare(kept, 2000 * FADED / FADED.sum()).pvalue > FALSE_ALARM


def test_sets_are_those_of_a_weighted_draw():
    """Pairs against successive draws without replacement, the law of exponential keys."""
    share = FADED / FADED.sum()
    expected = np.outer(share, share) / (1 - share)[:, None]
    pairs = np.zeros((N, N))
    for seed in range(2000):
        bottom = faded(seed, size=2)
        first, second = bottom.row_ids[np.argsort(bottom.keys)]
        pairs[first, second] += 1
    off = ~np.eye(N, dtype=bool)
    assert chisquare(pairs[off], 2000 * expected[off]).pvalue > FALSE_ALARM


def test_merged_faded_samples_follow_the_law_of_both():
    kept = np.zeros(2 * N)
    for seed in range(2000):
        left = faded((1, seed), size=1)
        left.merge(faded((2, seed), size=1, first=N))
        kept[left.row_ids] += 1
    both = np.concatenate([FADED, FADED])
    assert chisquare(kept, 2000 * both / both.sum()).pvalue > FALSE_ALARM


def test_shares_of_faded_rows_are_unbiased():
    estimates = []
    for seed in range(1000):
        bottom = faded(seed, size=4)
        estimates.append(bottom.total_weight * bottom.shares()[bottom.row_ids >= 8].sum())
        assert bottom.total_weight == FADED.sum()
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - FADED[8:].sum()) < 5 * error + 0.02  # shares are scaled to sum to 1


def test_a_sample_that_has_faded_to_nothing_is_valid():
    bottom = sample(0, [5])
    for _ in range(3000):
        bottom.fade(0.5)
    assert np.isfinite(bottom.shares()).all()
    assert (bottom.keys <= bottom.threshold).all()
    state.from_bytes(state.to_bytes({"it": bottom}))
    assert set(sample(1, [SIZE], first=5, into=bottom).row_ids) == {5, 6, 7}


def test_after_loading_it_continues_identically():
    bottom = sample(0, [30])
    again = state.from_bytes(state.to_bytes({"it": bottom}))["it"]
    for each in (bottom, again):
        sample(5, [30, 30], first=30, into=each)
    assert state.to_bytes({"it": bottom}) == state.to_bytes({"it": again})
