"""Objectives: functions of a set of rows that selectors maximise.

An objective holds the chosen rows and what it needs to score others. `look` computes what a block of candidates needs
once (dissimilarities, kernel values), and the block then answers as often as asked:

    block.gains()            the gain of adding each candidate
    block.gain(i)            the same for one, after changes
    block.swap_gains()       (gain, slot) of the best swap of each candidate
    block.swap_gain(i)       the same for one, after changes
    block.add(i)             candidate i joins; returns its slot
    block.swap(i, slot)      candidate i replaces the row in a slot

`modicum.select.swaps` needs no more than this. What a user passes to a selector is an objective without a set:
`fitted(rows)` fills in what depends on the data, `empty_set(like, limit, n_validation)` returns one with an empty set.
"""

from modicum.select.objectives.error import PredictionError
from modicum.select.objectives.exemplar import ExemplarObjective
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.objective import Block, Objective
from modicum.select.objectives.projected_error import ProjectedError
from modicum.select.objectives.variance import VarianceReduction

__all__ = [
    "Block",
    "ExemplarObjective",
    "LogDet",
    "Objective",
    "PredictionError",
    "ProjectedError",
    "VarianceReduction",
]
