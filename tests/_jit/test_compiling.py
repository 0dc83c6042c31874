"""Compilation is noticed, once per loop, and reported on a terminal."""

import io
import sys

import numba
import pytest

from modicum._jit.compiling import on_compile

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def new_loop():
    inner = numba.njit(lambda x: x + 1)
    return numba.njit(lambda x: inner(x) + max(x, 2))


def test_only_the_first_call_compiles():
    loop, told = new_loop(), []
    with on_compile(told.append):
        loop(1)
        assert told == [True, False]  # functions that it calls are compiled too: not reported
        loop(1)
    new_loop()(1)
    assert told == [True, False]


@pytest.mark.parametrize("stderr", [Terminal, io.StringIO])
def test_progress_says_so_on_a_terminal(monkeypatch, stderr):
    progress = pytest.importorskip("modicum.cli.progress")
    monkeypatch.setattr(sys, "stderr", stderr())
    monkeypatch.setenv("TERM", "xterm")
    with progress.Progress() as bar:
        bar.tell("reading rows")
        new_loop()(1)
    written = sys.stderr.getvalue()
    if stderr is Terminal:
        assert written.index("compiling (once)") < written.rindex("reading rows")
    else:
        assert written == ""
