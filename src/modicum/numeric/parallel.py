"""As many threads as pay.

Small matrix products on a few busy cores stall when BLAS splits each of them, so the work is split into
tiles here: every thread runs whole tiles with a BLAS of one thread. Tiles do not depend on the number of threads, and
so neither do results.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def run_tiles(work: Callable[[slice], object], count: int, size: int) -> None:
    """Call `work` with slices of `size` items that cover 0 .. count - 1, on all threads the process may use."""
    tiles = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    if getattr(_here, "is_worker", False):  # tiles within a tile: the pool is busy with us
        for tile in tiles:
            work(tile)
        return
    with single_threaded_blas() as allowed:
        threads = min(allowed, len(tiles))
        if threads <= 1:
            for tile in tiles:
                work(tile)
        else:
            list(_pool(threads).map(_for_thread(threading.get_ident(), work), tiles))


def _for_thread(asker: int, work: Callable[[slice], object]) -> Callable[[slice], object]:
    """`work` as done by another thread for the one that asks, which waits: locks that it holds are open to it."""

    def done(tile: slice) -> object:
        _here.asker = asker
        return work(tile)

    return done


def whose_work() -> int:
    """The thread that this one works for: itself, or the one whose tiles it runs."""
    return getattr(_here, "asker", None) or threading.get_ident()


_here = threading.local()


def _mark_worker() -> None:
    _here.is_worker = True


class _SingleThreadedBlas:
    """One thread for BLAS while anyone is inside. Callers may come from several threads: the last one out restores."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._allowed = 1
        self._limiter: Any = None

    def __enter__(self) -> int:
        """The threads that BLAS had: OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and threadpoolctl's limits all count."""
        with self._lock:
            if self._inside == 0:
                libraries = _controller().lib_controllers
                self._allowed = max((lib.num_threads for lib in libraries if lib.user_api == "blas"), default=1)
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1
            return self._allowed

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


@cache
def single_threaded_blas() -> _SingleThreadedBlas:
    """A context in which BLAS has one thread; tiles within it still run on all that are allowed."""
    return _SingleThreadedBlas()


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the libraries are counted)

    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="modicum", initializer=_mark_worker)


def _after_fork() -> None:
    """Threads and locks do not survive a fork; the child makes its own."""
    _pool.cache_clear()
    single_threaded_blas.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
