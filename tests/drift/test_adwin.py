"""ADWIN against a list of buckets, and its laws: few false alarms, and changes found soon."""

import numpy as np
import pytest

from modicum.drift import Adwin
from modicum.drift.adwin import BUCKETS
from modicum.exceptions import DataError


class ListOfBuckets:
    """The obvious twin: buckets (values) from the oldest to the newest, and raw values in each."""

    def __init__(self, delta, every):
        self.delta, self.every, self.buckets, self.n = delta, every, [], 0

    def add(self, value):
        """Whether a cut was made."""
        self.n += 1
        self.buckets.append([value])
        size = 1
        while sum(len(bucket) == size for bucket in self.buckets) > BUCKETS:
            at = next(i for i, bucket in enumerate(self.buckets) if len(bucket) == size)
            self.buckets[at : at + 2] = [self.buckets[at] + self.buckets[at + 1]]
            size *= 2
        cut = False
        while self.n % self.every == 0 and self.is_significant():
            self.buckets.pop(0)
            cut = True
        return cut

    @property
    def values(self):
        return [value for bucket in self.buckets for value in bucket]

    def is_significant(self):
        values = np.array(self.values)
        log = np.log(2 * max(1, np.log(len(values))) / self.delta)
        for at in np.cumsum([len(bucket) for bucket in self.buckets])[:-1]:
            m = 1 / (1 / at + 1 / (len(values) - at))
            bound = np.sqrt(2 / m * values.var() * log) + 2 / (3 * m) * log
            if abs(values[:at].mean() - values[at:].mean()) > bound:
                return True
        return False


def steps(rng, *levels, n=1500, spread=0.3):
    return np.clip(np.concatenate([rng.normal(level, spread, n) for level in levels]), 0, 1)


@pytest.mark.parametrize("every", [1, 7, 32])
def test_window_is_that_of_the_twin(every):
    values = steps(np.random.default_rng(every), 0.3, 0.8, 0.6, n=400)
    detector, twin = Adwin(0.01, every), ListOfBuckets(0.01, every)
    for value in values:
        detector.add([value])
        twin.add(value)
        assert detector.width == len(twin.values)
    assert detector.mean == pytest.approx(np.mean(twin.values))
    assert detector.width < len(values)


@pytest.mark.parametrize("count", [1, 4, 6, 7, 63, 1000])
def test_values_added_together_are_in_the_buckets_of_the_twin(count):
    values = np.random.default_rng(count).random(1500)
    detector, twin = Adwin(1e-9, 1000), ListOfBuckets(1e-9, 1000)
    for part in np.split(values, range(count, len(values), count)):
        detector.add(part)
        for value in part:
            twin.add(value)
        held = [detector.sums[level, : detector.counts[level]] for level in reversed(range(len(detector.counts)))]
        np.testing.assert_allclose(np.concatenate(held), [sum(bucket) for bucket in twin.buckets], rtol=1e-12)


def test_any_chunks_give_the_same():
    values = steps(np.random.default_rng(0), 0.2, 0.6, 0.3)
    whole, parts = Adwin(), Adwin()
    found = [change for part in np.array_split(values, 97) for change in parts.add(part)]
    assert found == whole.add(values)
    assert whole.mean == parts.mean


def test_each_change_is_told_once_near_its_place():
    found = Adwin().add(steps(np.random.default_rng(1), 0.2, 0.6, 0.3, n=3000))
    assert [change.difference > 0 for change in found] == [True, False]
    for change, place in zip(found, (3000, 6000), strict=True):
        assert place <= change.row < place + 300
        assert abs(change.since - place) < 300


@pytest.mark.parametrize("draw", ["rare", "even", "uniform"])
def test_false_alarms_are_rarer_than_delta(draw):
    rng, delta, n, runs = np.random.default_rng(2), 0.05, 4096, 60
    draws = {
        "rare": lambda: rng.random(n) < 0.05,
        "even": lambda: rng.random(n) < 0.5,
        "uniform": lambda: rng.random(n),
    }
    alarms = sum(len(Adwin(delta).add(draws[draw]())) for _ in range(runs))
    assert alarms <= delta * runs * n / 32  # each of the n / 32 comparisons
    assert alarms <= 0.5 * runs  # and in fact far rarer, as comparisons of one window are nearly the same


DRAWS = {
    "rare": lambda rng, n: rng.random(n) < 0.01,
    "even": lambda rng, n: rng.random(n) < 0.5,
    "extreme": lambda rng, n: rng.beta(0.2, 0.2, n),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_a_still_stream_of_20_000_values_has_an_alarm_once_in_a_hundred_at_most(draw):
    """By default; there was one in 3,000 streams, so that three of 100 would come by chance once in 100,000 runs."""
    rng = np.random.default_rng(4)
    assert sum(bool(Adwin().add(DRAWS[draw](rng, 20_000))) for _ in range(100)) <= 2


@pytest.mark.parametrize(("before", "after", "within"), [(0.1, 0.3, 250), (0.3, 0.5, 350), (0.02, 0.1, 450)])
def test_a_rise_of_a_share_is_noticed_soon_and_placed_well(before, after, within):
    """In nine of ten streams: after 10,000 still values, its 90% quantile is 175, 242 and 304 values."""
    rng, n, runs = np.random.default_rng(5), 10_000, 40
    found = [Adwin().add(rng.random(n + 1000) < np.repeat([before, after], [n, 1000])) for _ in range(runs)]
    late = [next(change for change in changes if change.row >= n) for changes in found]
    assert sum(change.row < n + within for change in late) >= 0.9 * runs
    assert np.median([abs(change.since - n) for change in late]) < 50
    assert all(change.difference > 0 for change in late)


def test_the_window_of_a_still_stream_grows_in_few_bytes():
    detector = Adwin()
    detector.add(np.random.default_rng(3).random(200_000))
    assert detector.width == 200_000
    assert detector.mean == pytest.approx(0.5, abs=0.01)


def test_no_values_have_no_mean():
    assert np.isnan(Adwin().mean)
    assert Adwin().add([]) == []


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf])
def test_values_without_the_bound_are_refused_and_nothing_changes(value):
    detector = Adwin()
    with pytest.raises(DataError, match="between 0 and 1"):
        detector.add([0.5, value])
    assert (detector.n_seen, detector.width) == (0, 0)


@pytest.mark.parametrize(("name", "value"), [("delta", 0), ("delta", 1.0), ("every", 0), ("every", 1.5)])
def test_parameters_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        Adwin(**{name: value})
