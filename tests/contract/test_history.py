"""The record of a stream stays small and spans all of it."""

import numpy as np
import pytest

from modicum.contract.history import History


@pytest.mark.parametrize("records", [1, 7, 8, 9, 100, 1001])
def test_it_spans_the_stream_evenly_and_ends_now(records):
    history = History("at", limit=8)
    for at in range(records):
        history.record(at)
    at = history.columns_as_arrays()["at"]
    assert len(at) <= 8
    assert at[0] <= records / 4
    assert at[-1] == records - 1
    steps = np.diff(at)
    assert (steps > 0).all()
    if len(steps) > 2:
        assert steps.max() <= 3 * np.median(steps)
