"""Objectives of selectors by name: "logdet" (gomes2010, F_H), "variance" (F_V) and "error" (its GP experiments)."""

from typing import Any

from modicum.rules.params import Where
from modicum.select.objectives.error import PredictionError
from modicum.select.objectives.logdet import LogDet
from modicum.select.objectives.variance import VarianceReduction

NAMED: dict[str, type] = {"error": PredictionError, "logdet": LogDet, "variance": VarianceReduction}

OBJECTIVE = Where(
    lambda value: isinstance(value, tuple(NAMED.values())) or (isinstance(value, str) and value in NAMED),
    '"logdet", "variance", "error" or such an objective with its parameters',
)


def as_objective(spec: Any) -> Any:
    """An objective, given by name or as such."""
    return NAMED[spec]() if isinstance(spec, str) else spec
