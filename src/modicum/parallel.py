"""As many threads as pay.

Small matrix products on a few busy cores stall when BLAS splits each of them, so the work is split into
tiles here: every thread runs whole tiles with a BLAS of one thread. Tiles do not depend on the number of threads, and
so neither do results.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from threadpoolctl import ThreadpoolController


def run_tiles(work: Callable[[slice], object], count: int, tile: int) -> None:
    """Call `work` with slices of `tile` items that cover 0 .. count - 1, on all threads the process may use."""
    tiles = [slice(start, min(start + tile, count)) for start in range(0, count, tile)]
    threads = min(n_threads(), len(tiles))
    with _controller().limit(limits=1, user_api="blas"):
        if threads <= 1:
            for part in tiles:
                work(part)
        else:
            list(_pool(threads).map(work, tiles))


def n_threads() -> int:
    """What BLAS has been allowed: OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and threadpoolctl's limits all count."""
    counts = [library.num_threads for library in _controller().lib_controllers if library.user_api == "blas"]
    return max(counts, default=1)


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the libraries are counted)

    return ThreadpoolController()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="modicum")
