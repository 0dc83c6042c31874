"""A history has bounded size and spans the whole stream."""

import numpy as np
import pytest

from modicum.contract.history import History


@pytest.mark.parametrize("records", [1, 7, 8, 9, 100, 1001])
def test_it_spans_the_stream_evenly_and_ends_with_the_latest(records):
    history = History("n_seen", limit=8)
    for n_seen in range(records):
        history.record(n_seen)
    n_seen = history.columns_as_arrays()["n_seen"]
    assert len(n_seen) <= 8
    assert n_seen[0] <= records / 4
    assert n_seen[-1] == records - 1
    steps = np.diff(n_seen)
    assert (steps > 0).all()
    if len(steps) > 2:
        assert steps.max() <= 3 * np.median(steps)
