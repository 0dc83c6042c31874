"""One learner, one caller at a time."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from modicum.numeric.parallel import whose_work


class Guard:
    """A lock that a thread may take again, as may threads that run tiles for it while it waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def run(self, method: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a method, alone."""
        caller = whose_work()
        if self._owner == caller:
            return method(*args, **kwargs)
        with self._lock:
            self._owner = caller
            try:
                return method(*args, **kwargs)
            finally:
                self._owner = None


def one_at_a_time(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that waits while another thread is inside one of the same learner."""

    @wraps(method)
    def guarded(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._guard().run(method, self, *args, **kwargs)

    return guarded
