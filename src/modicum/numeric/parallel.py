"""Threads: work is split into tiles, each run by one thread with single-threaded BLAS.

Small matrix products on a few busy cores stall when BLAS splits each of them. Tiles do not depend on the number of
threads, and so neither do results.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController


def run_tiles(work: Callable[[slice], object], count: int, size: int) -> None:
    """Call `work` with slices (tiles) of `size` items that cover 0 .. count - 1, on all threads that BLAS may use."""
    tiles = [slice(first, min(first + size, count)) for first in range(0, count, size)]
    if getattr(_here, "is_worker", False):  # tiles within a tile: waiting for the pool would deadlock
        for tile in tiles:
            work(tile)
        return
    with single_threaded_blas() as allowed:
        threads = min(allowed, len(tiles))
        if threads <= 1:
            for tile in tiles:
                work(tile)
        else:
            list(_pool(threads).map(_on_behalf_of(threading.get_ident(), work), tiles))


def _on_behalf_of(caller: int, work: Callable[[slice], object]) -> Callable[[slice], object]:
    """`work` for another thread, the caller, which waits for it; `calling_thread` gives access to its locks."""

    def work_on(tile: slice) -> object:
        _here.caller = caller
        return work(tile)

    return work_on


def calling_thread() -> int:
    """The id of the thread for which this one works: its own, or that of the caller whose tiles it runs."""
    return getattr(_here, "caller", None) or threading.get_ident()


_here = threading.local()


def _mark_worker() -> None:
    _here.is_worker = True


# Since version 3.8, threadpoolctl ignores limits of OpenBLAS that are set or restored by another thread than the first
# one that set a limit, until that thread gives up control. Older versions do not have this function.
_release_control: Callable[..., object] = getattr(
    getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", lambda **_: None
)


class _SingleThreadedBlas:
    """Limits BLAS to one thread while any thread is inside; the last one to leave restores the limits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._allowed = 1
        self._limiter: Any = None

    def __enter__(self) -> int:
        """Limit BLAS; returns the number of threads it had, as set by OMP_NUM_THREADS, threadpoolctl and the like."""
        with self._lock:
            if self._inside == 0:
                libraries = _controller().lib_controllers
                self._allowed = max((lib.num_threads for lib in libraries if lib.user_api == "blas"), default=1)
                _release_control(force=True)
                self._limiter = _controller().limit(limits=1, user_api="blas")
                _release_control(force=True)
            self._inside += 1
            return self._allowed

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _release_control(force=True)
                self._limiter.restore_original_limits()
                _release_control(force=True)


@cache
def single_threaded_blas() -> _SingleThreadedBlas:
    """A context in which BLAS has one thread; `run_tiles` within it still uses all threads that BLAS had."""
    return _SingleThreadedBlas()


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller lists libraries)

    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="modicum", initializer=_mark_worker)


def _after_fork() -> None:
    """Discard threads and locks, which do not survive a fork; the child creates its own."""
    _pool.cache_clear()
    single_threaded_blas.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
