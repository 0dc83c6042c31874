"""Attacks on some learners, run in a child process: `python child.py quick NAME ...`, or `long`.

Every violation is a line on standard output. The last line of standard error is what was tried last, which identifies a
crash.
"""

import signal
import sys
from functools import partial

import numpy as np
from scipy import sparse

from learners import LEARNERS
from modicum import Learner
from modicum.checks.common import chunks_of, fresh, rows, targets
from modicum.checks.forge import forgeries, harm_of_state
from modicum.checks.odd import harm_of_chunk, odd_chunks
from modicum.exceptions import StateError

SECONDS = 60  # limit of one try, which normally takes milliseconds
SIZES = (40, 600)  # rows of the states: before and after some learners have enough to initialize


class Hang(BaseException):
    """A try exceeded its time limit."""


def stop(*_):
    raise Hang


def models(name, quick):
    """(label, model, further rows, their targets), dense and sparse, in several states."""
    for number, learner in enumerate(LEARNERS[name][: 1 if quick else None]):
        for size in SIZES[-1:] if quick else SIZES:
            X, more = rows(learner, size), rows(learner, 30, seed=5)
            for kind in ("dense", "sparse")[: 1 + learner.traits.sparse]:
                made = sparse.csr_matrix if kind == "sparse" else np.asarray
                model, y = fresh(learner), targets(learner, X)
                for chunk in chunks_of(size, 200):
                    model.partial_fit(made(X[chunk]), None if y is None else y[chunk])
                yield f"{name}{number}, {kind}, {size} rows", model, more, targets(learner, more)


def damaged(blob, rng):
    """An endless sequence of (description, damaged bytes): flipped, cut, spliced, changed header; the same digest."""
    words = (b"F64", b"I64", b"F32", b"I32", b"BOOL", b"shape", b"dtype", b"true", b"0", b"1", b"[", b":", b"}")
    while True:
        kind, changed = int(rng.integers(4)), bytearray(blob)
        at, to = sorted(int(position) for position in rng.integers(len(blob), size=2))
        if kind == 0:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del changed[at:]
        elif kind == 2:
            changed[at : at + 16] = blob[to : to + 16]
        else:
            old, new = (words[int(number)] for number in rng.integers(len(words), size=2))
            found = max(blob.find(old, at), 0)
            changed[found : found + len(old)] = new
        if changed != blob:
            yield f"damage {kind} at {at}", bytes(changed)


def harm_of_damage(blob):
    try:
        Learner.from_bytes(blob)
    except StateError:
        return None
    except Exception as error:
        return f"raises {error!r}"
    return "is loaded"


def tries(model, X, y, quick):
    """(description, function that tries it and returns the harm)."""
    rng = np.random.default_rng(int(quick))
    state, good = model.to_bytes(), {"X": X, "y": y}
    for _, (what, blob) in zip(range(40 if quick else 100), damaged(state, rng), strict=False):
        yield what, partial(harm_of_damage, blob)
    for _, (what, blob) in zip(range(12 if quick else 30), forgeries(state, rng), strict=False):
        yield what, partial(harm_of_state, blob, X, y)
    for what, chunk in list(odd_chunks(X, y))[:: 61 if quick else 23]:
        yield f"{what} as the first chunk", lambda chunk=chunk: harm_of_chunk(fresh(model), chunk, good)
        yield f"{what} as a later chunk", lambda chunk=chunk: harm_of_chunk(Learner.from_bytes(state), chunk, good)


def attack(name, quick):
    for label, model, X, y in models(name, quick):
        for what, do in tries(model, X, y, quick):
            print(f"{label}: {what}", file=sys.stderr, flush=True)
            signal.alarm(SECONDS)
            try:
                harm = do()
            except Hang:
                harm = "hangs"
            signal.alarm(0)
            if harm:
                print(f"{label}: {what}: {harm}")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, stop)
    for name in sys.argv[2:]:
        attack(name, sys.argv[1] == "quick")
