"""Many short jobs on all cores, one thread each."""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from common import thread_env


class Workers:
    """`with Workers() as spread: spread(function, jobs)` runs jobs on all cores, one thread each; results in order."""

    def __enter__(self):
        os.environ.update(thread_env(1))  # read by the processes when they import numpy
        self.pool = ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))
        return self.spread

    def __exit__(self, *_):
        self.pool.shutdown(cancel_futures=True)

    def spread(self, function, jobs):
        chunk = max(1, len(jobs) // 200)
        start = reported = time.perf_counter()
        for done, result in enumerate(self.pool.map(function, jobs, chunksize=chunk), start=1):
            if time.perf_counter() - reported > 15:
                reported = time.perf_counter()
                print(f"{done} of {len(jobs)} runs after {reported - start:.0f} s", file=sys.stderr, flush=True)
            yield result


def grouped(keys, values):
    """{key: its values}."""
    found = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(key, []).append(value)
    return found
