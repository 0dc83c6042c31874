"""Rises of errors of any scale: where they begin, and that a fall or one large error is none."""

import numpy as np
import pytest

from modicum import state
from modicum.drift import ErrorWatch


def errors(seed, *levels, n=3000):
    return np.random.default_rng(seed).exponential(size=n * len(levels)) * np.repeat(levels, n)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("seed", range(3))
def test_a_rise_is_found_and_a_fall_is_none(scale, seed):
    (change,) = ErrorWatch().add(scale * errors(seed, 1.0, 3.0, 0.5), 0)
    assert 2900 < change.since < 3100
    assert change.difference > 0


def test_one_large_error_is_no_rise():
    values = errors(0, 1.0, 1.0)
    values[[100, 4000]] = 1e30, np.inf
    assert ErrorWatch().add(values, 0) == []


def test_bounded_errors_are_taken_as_they_are():
    values = (np.random.default_rng(0).random(4000) < np.repeat([0.1, 0.4], 2000)).astype(float)
    watch = ErrorWatch(is_bounded=True)
    (change,) = watch.add(values, 0)
    assert 1900 < change.since < 2100
    assert watch.detector.n_seen == 4000


@pytest.mark.parametrize("size", [1, 31, 33, 500])
def test_errors_may_come_in_any_chunks(size):
    """Even if the first one is no measure of the others."""
    values = errors(0, 1.0, 3.0)
    values[0] = 1e-9
    whole, parts = ErrorWatch().add(values, 7), ErrorWatch()
    found = [change for at in range(0, len(values), size) for change in parts.add(values[at : at + size], 7 + at)]
    assert found == whole
    assert 2900 < found[0].since - 7 < 3100


@pytest.mark.parametrize("draw", ["exponential", "chisquare", "cauchy", "lognormal"])
def test_errors_that_stay_hardly_ever_rise(draw):
    """False alarms in one of 100 streams of 10,000 errors, at most; there was none in 400."""
    rng = np.random.default_rng(0)
    draws = {
        "exponential": lambda size: rng.exponential(size=size),
        "chisquare": lambda size: rng.normal(size=size) ** 2,
        "cauchy": lambda size: np.abs(rng.standard_cauchy(size)),
        "lognormal": lambda size: rng.lognormal(0, 3, size),
    }
    assert sum(bool(ErrorWatch().add(draws[draw](10_000), 0)) for _ in range(100)) <= 1


def test_rows_are_numbered_by_the_caller():
    (change,) = ErrorWatch().add(errors(0, 1.0, 3.0), 0)
    (later,) = ErrorWatch().add(errors(0, 1.0, 3.0), 500)
    assert (later.row, later.since) == (change.row + 500, change.since + 500)


def test_no_errors_and_errors_of_zero_are_fine():
    watch = ErrorWatch()
    assert watch.add(np.zeros(0), 0) == []
    assert watch.add(np.zeros(500), 0) == []


def test_after_loading_it_continues_identically():
    watch, values = ErrorWatch(), errors(0, 1.0, 3.0)
    watch.add(values[:2000], 0)
    again = state.from_bytes(state.to_bytes({"it": watch}))["it"]
    assert again.add(values[2000:], 2000) == watch.add(values[2000:], 2000) != []
    assert state.to_bytes({"it": watch}) == state.to_bytes({"it": again})
