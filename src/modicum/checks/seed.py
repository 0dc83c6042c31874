"""Seed: the same int gives the same bytes, and the global random state is not used."""

import numpy as np

from modicum.checks.common import learned, rows
from modicum.contract.learner import Learner


def same_seed_same_bytes(learner: Learner) -> None:
    assert learned(learner, rows(learner)).to_bytes() == learned(learner, rows(learner)).to_bytes(), "two runs differ"


def global_random_state_is_left_alone(learner: Learner) -> None:
    before = str(np.random.get_state(legacy=False))  # noqa: NPY002
    learned(learner, rows(learner))
    assert str(np.random.get_state(legacy=False)) == before, "the global random state was used"  # noqa: NPY002


CHECKS = [same_seed_same_bytes, global_random_state_is_left_alone]
