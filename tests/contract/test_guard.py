"""Public methods and properties of a learner run one at a time, whatever the threads."""

import copy
import pickle
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import modicum

X = np.random.default_rng(0).normal(size=(100, 3))


def test_a_function_of_the_user_may_ask_the_learner_that_calls_it():
    """It may be called by threads that run tiles while the learner's lock is held."""
    words = ["a" * (1 + i % 7) for i in range(5000)]
    known = []

    def same(a, b):
        return float(a == b) + 0.0 * sum(model.n_retained_ for model in known)

    model = modicum.StreamSVC(1.0, kernel=same).fit(words[:60], [len(word) > 3 for word in words[:60]])
    known.append(model)
    assert len(model.predict(words)) == 5000


def test_copies_made_while_another_thread_learns_are_whole():
    chunks = [X + shift for shift in range(20)]
    model = modicum.StreamGreedy(8, random_state=0)
    states = {model.partial_fit(chunk).to_bytes() for chunk in chunks}
    model = modicum.StreamGreedy(8, random_state=0).partial_fit(chunks[0])
    thread = threading.Thread(target=lambda: [model.partial_fit(chunk) for chunk in chunks[1:]])
    thread.start()
    copies = [copy.deepcopy(model)]
    while thread.is_alive():
        copies.append(pickle.loads(pickle.dumps(model)))
    assert all(made.to_bytes() in states for made in copies)


def test_two_learners_that_merge_each_other_do_not_deadlock():
    one, two = (modicum.OnlineKMeans(2).fit(rows) for rows in (X, X + 1))
    threads = [
        threading.Thread(target=lambda a=a, b=b: [a.merge(b) for _ in range(20)], daemon=True)
        for a, b in ((one, two), (two, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.n_seen_ > 100


def test_learned_values_need_a_fitted_learner():
    class _Bare(modicum.Reservoir):
        """A learner whose properties check nothing themselves."""

        @property
        def secret_(self):
            return 7

        @property
        def known(self):
            return 8

    assert _Bare().known == 8
    assert not hasattr(_Bare(), "secret_")
    with pytest.raises(NotFittedError, match="_Bare"):
        _Bare().secret_  # noqa: B018
    assert _Bare().fit(X).secret_ == 7
