"""Tiles cover everything exactly once on any number of threads, and BLAS gets its threads back."""

import os
import threading
import time

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be loaded before limits are set)
from threadpoolctl import threadpool_info, threadpool_limits

from modicum.numeric.parallel import calling_thread, run_tiles, single_threaded_blas


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    """The number of threads that BLAS, and so `run_tiles`, may use."""
    with threadpool_limits(request.param, user_api="blas"):
        yield request.param


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def wait_for(condition):
    for _ in range(100_000):  # a busy machine may take long; a hang ends some day
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("timeout")


@pytest.mark.parametrize("count", [0, 1, 7, 64, 1000])
@pytest.mark.parametrize("size", [1, 3, 64, 5000])
def test_every_item_is_in_exactly_one_tile(threads, count, size):
    times = np.zeros(count, int)
    tiles = []

    def work(tile):
        times[tile] += 1
        tiles.append((tile.start, tile.stop))

    run_tiles(work, count, size)
    assert (times == 1).all()
    assert sorted(tiles) == [(first, min(first + size, count)) for first in range(0, count, size)]


def test_tiles_run_on_as_many_threads_as_blas_may_use(threads):
    running, most, lock = set(), [], threading.Lock()
    everyone = threading.Barrier(threads)  # broken by a timeout if fewer threads work

    def work(tile):
        everyone.wait(timeout=20)
        with lock:
            running.add(threading.get_ident())
            most.append(len(running))

    run_tiles(work, threads, 1)
    assert max(most) == threads


def test_blas_has_one_thread_in_every_tile(threads):
    found = []
    run_tiles(lambda tile: found.extend(blas_threads()), 20, 1)
    assert set(found) == {1}
    assert set(blas_threads()) == {threads}


def test_tiles_inside_tiles(threads):
    times = np.zeros((40, 30), int)

    def outer(rows):
        def inner(columns):
            times[rows, columns] += 1

        run_tiles(inner, 30, 4)

    run_tiles(outer, 40, 3)
    assert (times == 1).all()


def test_callers_on_several_threads(threads):
    times = np.zeros((4, 500), int)

    def call(i):
        def work(tile):
            times[i, tile] += 1

        for _ in range(10):
            run_tiles(work, 500, 7)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (times == 10).all()
    assert set(blas_threads()) == {threads}


def test_errors_reach_the_caller(threads):
    def fail(tile):
        if tile.start == 6:
            raise ZeroDivisionError("tile 6")

    with pytest.raises(ZeroDivisionError, match="tile 6"):
        run_tiles(fail, 10, 1)
    assert set(blas_threads()) == {threads}
    done = []
    run_tiles(done.append, 10, 1)  # the pool still works
    assert len(done) == 10


def test_limits_are_restored_by_the_last_thread_to_leave(threads):
    leave = [threading.Event() for _ in range(3)]
    inside = []

    def hold(event):
        with single_threaded_blas() as allowed:
            inside.append(allowed)
            event.wait(timeout=20)

    holders = [threading.Thread(target=hold, args=(event,)) for event in leave]
    for number, holder in enumerate(holders, 1):
        holder.start()
        wait_for(lambda number=number: len(inside) == number)
    assert inside == [threads] * 3
    for event, holder in zip(leave, holders, strict=True):
        assert set(blas_threads()) == {1}
        event.set()
        holder.join()
    assert set(blas_threads()) == {threads}


def test_limits_are_restored_after_an_error(threads):
    with pytest.raises(KeyError), single_threaded_blas():
        raise KeyError
    assert set(blas_threads()) == {threads}


def test_work_is_that_of_the_caller(threads):
    owners = []
    run_tiles(lambda tile: owners.append(calling_thread()), 20, 1)
    assert set(owners) == {threading.get_ident()} == {calling_thread()}


def test_work_inside_tiles_is_that_of_the_outer_caller(threads):
    owners = []
    run_tiles(lambda tile: run_tiles(lambda inner: owners.append(calling_thread()), 3, 1), 5, 1)
    assert len(owners) == 15
    assert set(owners) == {threading.get_ident()}


def test_each_caller_is_named_in_its_own_tiles(threads):
    found = {}

    def call():
        owners = set()
        for _ in range(20):
            run_tiles(lambda tile: owners.add(calling_thread()), 10, 1)
        found[threading.get_ident()] = owners

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found
    assert all(owners == {caller} for caller, owners in found.items())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_creates_its_own_threads(threads):
    """Also if the parent has a pool, and is inside the context that limits BLAS."""
    run_tiles(lambda tile: None, 10, 1)
    with single_threaded_blas():
        child = os.fork()
        if child == 0:
            times = np.zeros(100, int)

            def work(tile):
                times[tile] += 1

            run_tiles(work, 100, 3)
            os._exit(0 if (times == 1).all() else 1)
    deadline = time.monotonic() + 600
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise AssertionError("the child waits for threads that do not exist")
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(ended[1]) == 0
