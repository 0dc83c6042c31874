"""Budget: memory stays within it for streams of any length."""

import numpy as np

from modicum.checks.common import assert_within_budget, fresh, rows, targets
from modicum.contract.learner import Learner


def state_stays_within_the_budget(learner: Learner) -> None:
    model = fresh(learner)
    for seed in range(8):
        X = rows(learner, 250, seed=seed)
        assert_within_budget(model.partial_fit(X, targets(learner, X)))


def state_is_flat_over_a_long_stream(learner: Learner) -> None:
    model = fresh(learner)
    held = []
    for seed in range(40):
        X = rows(learner, 500, seed=seed)
        model.partial_fit(X, targets(learner, X))
        held.append(model.nbytes_)
    early, late = max(held[:20]), max(held[20:])
    assert late <= 1.02 * early + 256, (
        f"held up to {early} bytes in the first 10,000 rows and {late} in the next 10,000"
    )


def a_saved_file_is_not_larger_than_nbytes(learner: Learner) -> None:
    X = rows(learner, 500)
    model = fresh(learner).partial_fit(X, targets(learner, X))
    blob = model.to_bytes()
    header = 8 + int.from_bytes(blob[:8], "little")  # its size does not depend on rows
    assert len(blob) - header <= model.nbytes_ + 64, f"{len(blob) - header} bytes saved, but nbytes_ is {model.nbytes_}"
    assert header <= 2**17, f"the header of the file has {header} bytes"


def no_more_is_held_than_planned(learner: Learner) -> None:
    """`nbytes_` is at most that of `plan`, which every learner with a budget has."""
    assert hasattr(learner, "plan") or "budget" not in learner.get_params(deep=False), "it has a budget but no `plan`"
    if not hasattr(learner, "plan"):
        return
    for dtype in (np.float64, np.float32):
        model = fresh(learner)
        for seed in range(4):
            X = rows(learner, 250, seed=seed, dtype=dtype)
            model.partial_fit(X, targets(learner, X))
            planned = model.plan(X.shape[1], dtype=dtype).nbytes
            assert model.nbytes_ <= planned, (
                f"{model.nbytes_} bytes held with {dtype.__name__} rows, but {planned} planned"
            )


CHECKS = [
    state_stays_within_the_budget,
    no_more_is_held_than_planned,
    state_is_flat_over_a_long_stream,
    a_saved_file_is_not_larger_than_nbytes,
]
