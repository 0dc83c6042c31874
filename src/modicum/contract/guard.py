"""Members of learners that are guarded: one caller at a time, and learned values only of fitted learners."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from modicum.numeric.parallel import calling_thread


class Guard:
    """A reentrant lock: its owner may take it again, and so may threads that run tiles for the owner."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def run(self, method: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a method while holding the lock."""
        caller = calling_thread()
        if self._owner == caller:
            return method(*args, **kwargs)
        with self._lock:
            self._owner = caller
            try:
                return method(*args, **kwargs)
            finally:
                self._owner = None


def one_at_a_time(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, run while holding the lock of its learner."""

    @wraps(method)
    def guarded(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._guard().run(method, self, *args, **kwargs)

    return guarded


def once_fitted(getter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The getter of a learned value, with a `NotFittedError` before any data."""

    @wraps(getter)
    def checked(self: Any) -> Any:
        self._check_fitted()
        return getter(self)

    return checked
