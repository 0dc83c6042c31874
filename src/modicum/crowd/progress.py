"""How far a fit is, for those who watch: bars of the command line, pages of a server.

    with watching(lambda share, words: print(f"{share:.0%} {words}")):
        CrowdClustering().fit_groupings(answers)

Algorithms `report` what share of their work is done; `part` says which part of the whole that work is. How long a fit
takes is not known beforehand: shares are of the most work it may be, and jump ahead where it ends early.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

FITTED = 0.95  # share when a model is fitted; its clusters are found on request


class _Watch:
    """A callback, and the largest share it was told."""

    def __init__(self, callback: Callable[[float, str], None]):
        self._callback, self._reached = callback, 0.0

    def tell(self, share: float, words: str) -> None:
        self._reached = min(max(self._reached, share), 1.0)
        self._callback(self._reached, words)


class _Span(NamedTuple):
    """The part of a whole that shares are reported of."""

    watch: _Watch
    low: float = 0.0
    high: float = 1.0
    words: str = ""

    def at(self, share: float) -> float:
        return self.low + share * (self.high - self.low)


_span: ContextVar[_Span | None] = ContextVar("span", default=None)


@contextmanager
def watching(callback: Callable[[float, str], None]) -> Iterator[None]:
    """Call `callback(share, words)` as a fit within the block goes on, in the thread that fits.

    Shares rise from 0 to 1, which is told when the block ends without an error. Fits in other threads are not reported,
    nor are those within another `watching`. An exception of the callback ends the fit.
    """
    watch = _Watch(callback)
    with _within(_Span(watch)):
        yield
    watch.tell(1.0, "done")


@contextmanager
def part(start: float, end: float, of: float, words: str = "") -> Iterator[None]:
    """What is reported within the block is the part from `start` to `end` of `of`; `words`, if any, are said of it."""
    whole = _span.get()
    if whole is None:
        yield
        return
    span = _Span(whole.watch, whole.at(start / of), whole.at(end / of), whole.words or words)
    with _within(span):
        yield


def report(share: float, words: str = "") -> None:
    """Tell whoever watches what share of the present part is done, from 0 to 1; `words` if the part has none."""
    span = _span.get()
    if span is not None:
        span.watch.tell(span.at(share), span.words or words)


@contextmanager
def _within(span: _Span) -> Iterator[None]:
    token = _span.set(span)
    try:
        yield
    finally:
        _span.reset(token)
