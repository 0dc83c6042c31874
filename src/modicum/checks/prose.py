"""Prose: the docstring is complete, and errors about parameters name them."""

import inspect
import re
from functools import partial

from modicum.checks.common import error_of, fresh, rows, targets
from modicum.contract.learner import Learner

SECTIONS = ("Cost", "Parameters", "Attributes", "Examples", "References")


def docstring_has_its_sections(learner: Learner) -> None:
    text = inspect.getdoc(type(learner)) or ""
    for section in SECTIONS:
        assert section in text, f"the docstring has no {section}"
    assert re.search(r"\b[a-z]+\d{4}[a-z]*\b", text), "the docstring names no paper by its key, such as gomes2010"


def every_parameter_is_described_and_constrained(learner: Learner) -> None:
    text = inspect.getdoc(type(learner)) or ""
    for name in learner.get_params(deep=False):
        assert re.search(rf"^{name}\b.*:", text, re.MULTILINE), f"the docstring does not describe {name}"
        assert name in learner._constraints, f"{name} has no constraint"


def wrong_parameters_are_named(learner: Learner) -> None:
    X = rows(learner, 10)
    for name in learner.get_params(deep=False):
        model = fresh(learner).set_params(**{name: _Wrong()})
        message = error_of(partial(model.partial_fit, X, targets(learner, X)))
        assert name in message, f"the error about {name} does not name it: {message}"


class _Wrong:
    """An object that no parameter accepts."""


CHECKS = [docstring_has_its_sections, every_parameter_is_described_and_constrained, wrong_parameters_are_named]
