"""Threads: answers while another thread learns come from the state before or after a chunk."""

from threading import Event, Thread

import numpy as np

from modicum.checks.common import ANSWERS, fresh, rows, targets
from modicum.contract.learner import Learner

CHUNKS = 8


def answers_while_learning_are_of_whole_states(learner: Learner) -> None:
    first, *others = (rows(learner, 60, seed=seed) for seed in range(CHUNKS))
    X, y = rows(learner, 20, seed=99), [targets(learner, chunk) for chunk in (first, *others)]
    model = fresh(learner).partial_fit(first, y[0])
    possible = set(_ask(model, X))
    for chunk, target in zip(others, y[1:], strict=True):
        possible |= set(_ask(model.partial_fit(chunk, target), X))

    model = fresh(learner).partial_fit(first, y[0])
    found: list[tuple[str, bytes]] = []
    wrong: list[Exception] = []
    done = Event()

    def keep_asking() -> None:
        try:
            while not done.is_set():
                found.extend(_ask(model, X))
        except Exception as error:
            wrong.append(error)

    thread = Thread(target=keep_asking)
    thread.start()
    try:
        for chunk, target in zip(others, y[1:], strict=True):
            model.partial_fit(chunk, target)
    finally:
        done.set()
        thread.join()
    assert not wrong, f"asking while another thread learns raises {wrong[0]!r}"
    torn = [name for name, answer in found if (name, answer) not in possible]
    assert not torn, f"{torn[0]} gave an answer that belongs to no state between two chunks"


def _ask(model: Learner, X: np.ndarray) -> list[tuple[str, bytes]]:
    """(method, answer) of all methods that answer, and the state as it would be saved."""
    asked = [(name, np.asarray(getattr(model, name)(X))) for name in ANSWERS if hasattr(model, name)]
    return [("to_bytes", model.to_bytes()), *((name, answer.tobytes()) for name, answer in asked)]


CHECKS = [answers_while_learning_are_of_whole_states]
