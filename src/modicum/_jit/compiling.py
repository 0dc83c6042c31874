"""Callbacks around the compilation of loops, which happens once and takes seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


@contextmanager
def on_compile(callback: Callable[[bool], None]) -> Iterator[None]:
    """Call `callback(True)` whenever a loop is about to be compiled, and `callback(False)` when that is done.

    Loops that are found in numba's cache are not compiled, so nothing is called for them.
    """
    with event.install_listener("numba:compile", _Listener(callback)):
        yield


class _Listener(event.Listener):
    """Reports the outermost one of nested compilations; numba runs one at a time."""

    def __init__(self, callback: Callable[[bool], None]):
        self._callback = callback
        self._depth = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._callback(True)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._callback(False)
