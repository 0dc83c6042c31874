"""The target risk: a number, or text such as "5% above best" (the level of risk of lucic2015, section 6)."""

import re
from dataclasses import dataclass
from typing import Any

from modicum.rules.params import Number

_NUMBER = r"([0-9]*\.?[0-9]+)"
_PERCENT = re.compile(rf"{_NUMBER}\s*%(\s*above)?(\s*the)?(\s*best)?")
_TIMES = re.compile(rf"{_NUMBER}\s*(x|times)(\s*the)?(\s*best)?")
_FINITE = Number(-float("inf"))


@dataclass(frozen=True)
class RiskTarget:
    """A risk, or with `above_best` an excess over the best risk, relative to it."""

    value: float
    above_best: bool = False

    def level(self, best: float | None) -> float:
        """The target risk if the best risk is `best`; the excess is relative to the absolute value of `best`."""
        if not self.above_best:
            return self.value
        assert best is not None
        return best + self.value * abs(best)

    def words(self, level: float) -> str:
        """The target as text, once its level is known."""
        if not self.above_best:
            return f"risk {in_digits(self.value)}"
        excess = f"{1 + self.value:g} times" if level > 0 else f"{100 * self.value:g}% above"
        return f"{excess} the best risk found"


def in_digits(risk: float) -> str:
    """Four digits of a risk, written out.

    >>> in_digits(1_038_249.0), in_digits(3.20001)
    ('1,038,000', '3.2')
    """
    return f"{float(f'{risk:.4g}'):,.10g}"


def as_target(risk: Any) -> RiskTarget:
    """The target given as a number, a number as text, or text with an excess over the best risk.

    >>> as_target("5% above best") == as_target("1.05x")
    True
    >>> as_target("3.2")
    RiskTarget(value=3.2, above_best=False)
    """
    found = _parsed(risk.strip().lower()) if isinstance(risk, str) else RiskTarget(risk)
    if not _FINITE.accepts(found.value) or (found.above_best and found.value <= 0):
        raise ValueError(
            f'Tram: risk must be a number, or relative to the best risk: "5% above best" or "1.05x"; got {risk!r}.'
        )
    return found


def _parsed(text: str) -> RiskTarget:
    """The target in the text; NaN if there is none."""
    if found := _PERCENT.fullmatch(text):
        return RiskTarget(float(found[1]) / 100, above_best=True)
    if found := _TIMES.fullmatch(text):
        return RiskTarget(round(float(found[1]) - 1, 12), above_best=True)  # 1.05 - 1 is not quite 0.05
    try:
        return RiskTarget(float(text))
    except ValueError:
        return RiskTarget(float("nan"))
