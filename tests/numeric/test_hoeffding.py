"""Hoeffding's bound and its inverse."""

import numpy as np
import pytest

from modicum.numeric.hoeffding import hoeffding_error, hoeffding_size


@pytest.mark.parametrize("population", [np.inf, 50_000])
def test_hoeffding_and_its_inverse(population):
    log_term = np.log(2 / 0.05)
    n = hoeffding_size(0.02, 1.0, log_term, population)
    assert hoeffding_error(n, 1.0, log_term, population) <= 0.02 < hoeffding_error(n - 1, 1.0, log_term, population)


def test_corollary_1_as_printed():
    """c = B^2 log(2/delta) / (2 V eps^2), |W| = c / (1 + c) V, but for the term that it leaves out."""
    B, delta, V, eps = 3.0, 0.1, 10_000, 0.2
    c = B**2 * np.log(2 / delta) / (2 * V * eps**2)
    assert 0 <= hoeffding_size(eps, B, np.log(2 / delta), V) - int(np.ceil(c / (1 + c) * V)) <= 1


def test_hoeffding_holds_for_one_of_two_rows():
    """The mean of one of the values 0 and 1 is always off by a half: no bound below that can hold, ever."""
    assert hoeffding_error(1, 1.0, np.log(2 / 0.99), population=2) >= 0.5
