"""The result of a search for a risk (lucic2015, section 6) in a few sentences that claim no more than was measured."""

from typing import Any

from modicum.contract.centers import CentersMixin
from modicum.rules.budget import format_bytes
from modicum.tradeoff.target import in_digits

_NEEDED = {
    "data": "More rows, not more memory or time, would be needed.",
    "time": "More time would be needed.",
    "memory": "More memory would be needed.",
}


def statement(tram: Any, wanted: str) -> str:
    """The result of a fitted `Tram` that searched for `wanted`."""
    best = min(tram.path_, key=lambda done: done.risk)
    is_everything = tram.stopped_by_ in ("data", "memory") and best.n_rows == tram.path_[-1].n_rows
    share = _share(best.n_rows, tram.n_rows_, is_everything)
    if not tram.reached_:
        found = f"the best has {in_digits(best.risk)}, with {share} and {format_bytes(best.nbytes)}"
        needed = _NEEDED[tram.stopped_by_]
        return f"No solution with {wanted} was found in {_time(tram.seconds_)}: {found}. {needed}{_measured(tram)}"
    found = f"{share} and {format_bytes(best.nbytes)} reach {wanted} in {_time(tram.seconds_)}"
    if tram.n_rows_ is not None and 2 * best.n_rows <= tram.n_rows_:
        found += f"; all data would take about {_time(best.seconds * tram.n_rows_ / best.n_rows)}"
    return f"{found}.{_measured(tram)}"


def _measured(tram: Any) -> str:
    """What a target relative to the best was measured against, and what that leaves open."""
    if tram.comparison_ is None:
        return ""
    model = "k-means" if isinstance(tram.estimator, CentersMixin) else type(tram.estimator).__name__
    return f" Measured: {tram.comparison_}; better solutions may exist: {model} finds local optima."


def _share(n_rows: int, total: int | None, is_everything: bool) -> str:
    if total is None:
        return f"the first {_rounded(n_rows)} rows"
    return f"all {_rounded(total)} rows" if is_everything else f"{_rounded(n_rows)} of {_rounded(total)} rows"


def _rounded(number: int) -> str:
    """A number for people.

    >>> _rounded(99_500), _rounded(45_811_883)
    ('99,500', '45.8 million')
    """
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:,}"


def _time(seconds: float) -> str:
    """A duration in one unit.

    >>> _time(0.0123), _time(84), _time(380)
    ('0.012 s', '84 s', '6.3 min')
    """
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
