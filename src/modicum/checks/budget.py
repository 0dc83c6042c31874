"""Budget: what is held stays within it, however long the stream."""

import numpy as np

from modicum.checks.common import assert_within_budget, fresh, rows, targets
from modicum.contract.learner import Learner


def state_stays_within_the_budget(learner: Learner) -> None:
    model = fresh(learner)
    for seed in range(8):
        X = rows(250, seed=seed)
        assert_within_budget(model.partial_fit(X, targets(learner, X)))


def state_is_flat_over_a_long_stream(learner: Learner) -> None:
    model = fresh(learner)
    held = []
    for seed in range(40):
        X = rows(500, seed=seed)
        model.partial_fit(X, targets(learner, X))
        held.append(model.nbytes_)
    early, late = max(held[:20]), max(held[20:])
    assert late <= 1.02 * early + 256, f"held up to {early} bytes in the first 10,000 rows and {late} in the next"


def saved_file_is_not_larger_than_what_is_held(learner: Learner) -> None:
    X = rows(500)
    model = fresh(learner).partial_fit(X, targets(learner, X))
    blob = model.to_bytes()
    names = 8 + int.from_bytes(blob[:8], "little")  # the header, whose size depends on no row
    assert len(blob) - names <= model.nbytes_ + 64, f"{len(blob) - names} bytes saved, {model.nbytes_} said to be held"
    assert names <= 2**17, f"the header of the file has {names} bytes"


def no_more_is_held_than_planned(learner: Learner) -> None:
    """`plan` tells what will be held, for every learner that takes a budget."""
    assert hasattr(learner, "plan") or "budget" not in learner.get_params(deep=False), "there is no `plan`"
    if not hasattr(learner, "plan"):
        return
    for dtype in (np.float64, np.float32):
        model = fresh(learner)
        for seed in range(4):
            X = rows(250, seed=seed, dtype=dtype)
            model.partial_fit(X, targets(learner, X))
            planned = model.plan(X.shape[1], dtype=dtype).nbytes
            assert model.nbytes_ <= planned, f"{model.nbytes_} bytes held of {dtype.__name__} rows, {planned} planned"


CHECKS = [
    state_stays_within_the_budget,
    no_more_is_held_than_planned,
    state_is_flat_over_a_long_stream,
    saved_file_is_not_larger_than_what_is_held,
]
