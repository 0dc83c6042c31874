"""Random generators in and out of files."""

import numpy as np
import pytest

from modicum.state.rng import as_generator, generator_state, restore_generator


def test_a_callers_generator_is_not_advanced():
    rng = np.random.default_rng(0)
    as_generator(rng).normal(size=100)
    assert rng.normal() == np.random.default_rng(0).normal()


@pytest.mark.parametrize("bits", ["PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_generators_come_back_in_mid_stream(bits):
    rng = np.random.Generator(getattr(np.random, bits)(7))
    rng.integers(10, size=3, dtype=np.int32)
    again = restore_generator(generator_state(rng))
    np.testing.assert_array_equal(again.normal(size=20), rng.normal(size=20))
